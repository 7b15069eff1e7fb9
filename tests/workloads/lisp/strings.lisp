; strings.lisp: builds, splits, joins and counts strings.
;
;	lisp strings.lisp [rounds=6000]

(parameter rounds 6000)

(define syllables '("ga" "le" "mi" "no" "tu" "sha" "re" "ko"))

(define (nth list n)
  (if (= n 0) (car list) (nth (cdr list) (- n 1))))

; Numbers that look random and are the same every time.
(define seed 42)
(define (next-number limit)
  (set! seed (remainder (+ (* seed 1103515245) 12345) 2147483648))
  (remainder (quotient seed 65536) limit))

(define (make-word length)
  (if (= length 0)
      ""
      (string-append (nth syllables (next-number 8))
                     (make-word (- length 1)))))

(define (make-words count)
  (let ((words '()))
    (while (> count 0)
      (set! words (cons (make-word (+ 1 (next-number 3))) words))
      (set! count (- count 1)))
    words))

; How often every word is in the list, added to the table.
(define (count-words words table)
  (for-each (lambda (word)
              (table-set! table word (+ 1 (table-get table word 0))))
            words))

(define (reverse-words text)
  (string-join (reverse (string-split text " ")) " "))

; One round of everything. Returns the length of the text.
(define (work table)
  (let* ((text (string-join (make-words 40) " "))
         (shouted (string-upcase text)))
    (count-words (string-split (string-downcase shouted) " ") table)
    (if (not (string=? (reverse-words (reverse-words text)) text))
        (error "reversing twice changed a text"))
    (string-length text)))

(define table (make-table))
(define bytes 0)
(define round 0)
(while (< round rounds)
  (set! bytes (+ bytes (work table)))
  (set! round (+ round 1)))

(define (sum list)
  (apply + list))

(display "rounds " rounds " bytes " bytes " different " (table-count table)
         " words " (sum (map (lambda (key) (table-get table key)) (table-keys table))))
(newline)
