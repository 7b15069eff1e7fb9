(* SPDX-License-Identifier: BSD-2-Clause *)
(* peer.ml: the programs of protocol.h for OCaml. *)
type tree =
  | Empty
  | Node of { mutable left : tree; mutable right : tree; mutable i : int; mutable j : int }

let leaf () = Node { left = Empty; right = Empty; i = 0; j = 0 }

let rec populate depth = function
  | Node node when depth > 0 ->
      node.left <- leaf ();
      node.right <- leaf ();
      populate (depth - 1) node.left;
      populate (depth - 1) node.right
  | _ -> ()

let rec make_tree depth =
  if depth <= 0 then leaf ()
  else
    let left = make_tree (depth - 1) in
    let right = make_tree (depth - 1) in
    Node { left; right; i = 0; j = 0 }

let rec count_nodes = function
  | Empty -> 0
  | Node node -> 1 + count_nodes node.left + count_nodes node.right

let trees depth = 2 * ((1 lsl 19) - 1) / ((1 lsl (depth + 1)) - 1)

let gcbench () =
  ignore (Sys.opaque_identity (make_tree 18));
  let long_lived = leaf () in
  populate 16 long_lived;
  let size = 500_000 in
  let doubles = Array.make size 0.0 in
  for i = 1 to (size / 2) - 1 do
    doubles.(i) <- 1.0 /. float_of_int i
  done;
  let rec depths depth =
    if depth <= 16 then begin
      for _ = 1 to trees depth do
        populate depth (leaf ())
      done;
      for _ = 1 to trees depth do
        ignore (Sys.opaque_identity (make_tree depth))
      done;
      depths (depth + 2)
    end
  in
  depths 4;
  assert (count_nodes long_lived = (2 lsl 16) - 1 && doubles.(1000) = 1.0 /. 1000.0)

(* Three fields and the header: 32 bytes. *)
type small = { serial : int; rest : int; more : int }

let kept = ref { serial = 0; rest = 0; more = 0 }

let allocate_short () =
  for i = 0 to 19_999_999 do
    let small = Sys.opaque_identity { serial = i; rest = 0; more = 0 } in
    if i land 1023 = 0 then kept := small
  done

(* Words behind the header: the sizes of churn.c. *)
let lengths = [| 1; 2; 3; 5; 7; 15; 63 |]

let churn_thread () =
  let ring = Array.make 256 [||] in
  let next = ref 0 in
  for i = 0 to 3_999_999 do
    let words = Array.make lengths.(!next) i in
    if i land 63 = 0 then ring.(i / 64 mod 256) <- words;
    incr next;
    if !next = Array.length lengths then next := 0
  done

let churn threads =
  let others = List.init (threads - 1) (fun _ -> Thread.create churn_thread ()) in
  churn_thread ();
  List.iter Thread.join others

let () =
  let work =
    match Sys.argv.(1) with
    | "gcbench" -> gcbench
    | "short" -> allocate_short
    | "churn" -> fun () -> churn (int_of_string Sys.argv.(3))
    | _ -> exit 2
  in
  for _ = 1 to int_of_string Sys.argv.(2) do
    let wall = Unix.gettimeofday () and cpu = Sys.time () in
    work ();
    Printf.printf "%.0f %.0f\n%!"
      ((Unix.gettimeofday () -. wall) *. 1e9)
      ((Sys.time () -. cpu) *. 1e9)
  done
