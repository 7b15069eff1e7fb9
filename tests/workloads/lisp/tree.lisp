; tree.lisp: builds and counts binary trees: many short-lived pairs, and one tree that stays.
;
;	lisp tree.lisp [depth=16]

(parameter depth 16)

(define least 4)

(define (power-of-2 n)
  (if (= n 0) 1 (* 2 (power-of-2 (- n 1)))))

; A leaf is (); every other node is a pair of trees.
(define (make-tree depth)
  (if (= depth 0)
      '()
      (cons (make-tree (- depth 1))
            (make-tree (- depth 1)))))

(define (count-nodes tree)
  (if (null? tree)
      1
      (+ 1
         (count-nodes (car tree))
         (count-nodes (cdr tree)))))

; Makes and counts `trees` trees; returns all their nodes.
(define (count-many trees depth)
  (let ((total 0))
    (while (> trees 0)
      (set! total (+ total (count-nodes (make-tree depth))))
      (set! trees (- trees 1)))
    total))

(define (report what depth nodes)
  (display what " of depth " depth " nodes " nodes)
  (newline))

(report "stretch tree" (+ depth 1) (count-nodes (make-tree (+ depth 1))))

(define long-lived (make-tree depth))

(let loop ((d least))
  (if (<= d depth)
      (begin
        (let ((trees (power-of-2 (- depth d))))
          (report trees d (count-many trees d)))
        (loop (+ d 2)))))

(report "long-lived tree" depth (count-nodes long-lived))
