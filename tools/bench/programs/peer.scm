;; SPDX-License-Identifier: BSD-2-Clause
;; peer.scm: the programs of protocol.h for Guile.
(use-modules (srfi srfi-9) (srfi srfi-4) (ice-9 match) (ice-9 threads))

(define-record-type <node>
  (make-node left right i j)
  node?
  (left node-left set-node-left!)
  (right node-right set-node-right!)
  (i node-i set-node-i!)
  (j node-j set-node-j!))

(define (leaf) (make-node #f #f 0 0))

(define (populate depth node)
  (when (> depth 0)
    (set-node-left! node (leaf))
    (set-node-right! node (leaf))
    (populate (- depth 1) (node-left node))
    (populate (- depth 1) (node-right node))))

(define (make-tree depth)
  (if (<= depth 0)
      (leaf)
      (let* ((left (make-tree (- depth 1)))
             (right (make-tree (- depth 1))))
        (make-node left right 0 0))))

(define (count-nodes node)
  (if node
      (+ 1 (count-nodes (node-left node)) (count-nodes (node-right node)))
      0))

(define (trees depth)
  (quotient (* 2 (- (ash 1 19) 1)) (- (ash 1 (+ depth 1)) 1)))

(define (gcbench)
  (make-tree 18)
  (let ((long-lived (leaf))
        (doubles (make-f64vector 500000 0.0)))
    (populate 16 long-lived)
    (do ((i 1 (+ i 1))) ((= i 250000))
      (f64vector-set! doubles i (/ 1.0 i)))
    (do ((depth 4 (+ depth 2))) ((> depth 16))
      (do ((i (trees depth) (- i 1))) ((= i 0))
        (populate depth (leaf)))
      (do ((i (trees depth) (- i 1))) ((= i 0))
        (make-tree depth)))
    (unless (and (= (count-nodes long-lived) (- (ash 2 16) 1))
                 (= (f64vector-ref doubles 1000) (/ 1.0 1000)))
      (error "the long-lived data was damaged"))))

;; A vector of three has a header word: 32 bytes.
(define kept #f)
(define (allocate-short)
  (do ((i 0 (+ i 1))) ((= i 20000000))
    (let ((object (vector i 0 0)))
      (when (eq? (logand i 1023) 0)
        (set! kept object)))))

(define lengths #(1 2 3 5 7 15 63))
(define (churn-thread)
  (let ((ring (make-vector 256 #f)))
    (let loop ((i 0) (next 0))
      (when (< i 4000000)
        (let ((object (make-vector (vector-ref lengths next) i)))
          (when (eq? (logand i 63) 0)
            (vector-set! ring (logand (ash i -6) 255) object)))
        (loop (+ i 1) (if (= next 6) 0 (+ next 1)))))))

(define (churn threads)
  (let ((others (map (lambda (_) (call-with-new-thread churn-thread)) (iota (- threads 1)))))
    (churn-thread)
    (for-each join-thread others)))

(define (run work times)
  (do ((n times (- n 1))) ((= n 0))
    (let ((wall (get-internal-real-time))
          (cpu (get-internal-run-time))
          (unit (quotient 1000000000 internal-time-units-per-second)))
      (work)
      (format #t "~a ~a\n" (* unit (- (get-internal-real-time) wall))
              (* unit (- (get-internal-run-time) cpu)))
      (force-output))))

(match (cdr (command-line))
  (("gcbench" times) (run gcbench (string->number times)))
  (("short" times) (run allocate-short (string->number times)))
  (("churn" times threads)
   (run (lambda () (churn (string->number threads))) (string->number times)))
  (_ (exit 2)))
