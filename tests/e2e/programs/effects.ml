(* SPDX-License-Identifier: BSD-2-Clause *)
(* effects.ml: OCaml 5: works in a fiber within a fiber, and in handlers of their effects. *)
open Effect
open Effect.Deep

type _ Effect.t += Ask : int -> int Effect.t

let rec fib n = if n < 2 then 1 else fib (n - 1) + fib (n - 2)

let[@inline never] inner rounds =
  let sum = ref 0 in
  for round = 1 to rounds do
    sum := !sum + perform (Ask round) + fib 12;
    ignore (Sys.opaque_identity (List.init 100 string_of_int))
  done;
  !sum

let handler = { effc = (fun (type a) (asked : a Effect.t) ->
    match asked with
    | Ask n -> Some (fun (k : (a, _) continuation) -> continue k (n + fib 12))
    | _ -> None) }

let[@inline never] handle rounds = 1 + try_with inner rounds handler
let[@inline never] outer rounds = 1 + try_with handle rounds handler
let () = print_int (outer (int_of_string Sys.argv.(1)))
