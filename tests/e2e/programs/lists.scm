;; SPDX-License-Identifier: BSD-2-Clause
;; lists.scm: allocates for so many rounds, collects three times, and prints the collector's own
;; account: how many collections there were, and the size of the heap. It ends without another one.
(define rounds (string->number (cadr (command-line))))

(define kept '())
(let loop ((round 0))
  (when (< round rounds)
    (let ((list (iota 10000)))
      (if (= 0 (modulo round 50)) (set! kept (cons list kept)))
      (loop (+ round 1)))))
(gc)
(gc)
(gc)
(let ((stats (gc-stats)))
  (display (assq-ref stats 'gc-times))
  (display " ")
  (display (assq-ref stats 'heap-size))
  (newline)
  (force-output)
  (primitive-_exit 0))
