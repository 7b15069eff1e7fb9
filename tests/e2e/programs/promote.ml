(* SPDX-License-Identifier: BSD-2-Clause *)
(* promote.ml: allocates lists for so many rounds, of which each tenth is kept for a while. *)

let rec make n = if n = 0 then [] else string_of_int n :: make (n - 1)

let () =
  let kept = ref [] in
  for round = 1 to int_of_string Sys.argv.(1) do
    let list = make 1000 in
    if round mod 10 = 0 then kept := list :: !kept;
    if round mod 500 = 0 then kept := []
  done;
  print_int (List.length !kept);
  print_newline ()
