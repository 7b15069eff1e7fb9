(* SPDX-License-Identifier: BSD-2-Clause *)
(* domains.ml: OCaml 5: so many rounds of lists in each of so many further domains; prints the words promoted. *)

let rec make n = if n = 0 then [] else string_of_int n :: make (n - 1)

let work rounds =
  let kept = ref [] in
  for round = 1 to rounds do
    let list = make 1000 in
    if round mod 10 = 0 then kept := list :: !kept;
    if round mod 500 = 0 then kept := []
  done;
  Gc.minor ();
  let _, promoted, _ = Gc.counters () in
  promoted

let () =
  let rounds = int_of_string Sys.argv.(1) and others = int_of_string Sys.argv.(2) in
  let domains = List.init others (fun _ -> Domain.spawn (fun () -> work rounds)) in
  let own = work rounds in
  Printf.printf "%.0f\n" (List.fold_left (fun sum domain -> sum +. Domain.join domain) own domains)
