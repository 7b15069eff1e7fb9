; readfile.lisp: reads a file, at once and line by line, and counts its lines and words.
;
;	lisp readfile.lisp [file=PATH] [passes=1000]
;
; The file may also be named by the environment variable READFILE.

(define (first-that-exists paths)
  (cond ((null? paths) (error "no file to read; say file=PATH"))
        ((file-exists? (car paths)) (car paths))
        (else (first-that-exists (cdr paths)))))

(parameter file (or (getenv "READFILE")
                    (first-that-exists '("/etc/services" "/etc/passwd"))))
(parameter passes 1000)

(define blanks " \t\n")

(define (count-words words table)
  (for-each (lambda (word)
              (table-set! table word (+ 1 (table-get table word 0))))
            words)
  (length words))

; The numbers of lines and words, as a pair; the words go into the table.
(define (count-lines port table)
  (let ((lines 0) (words 0) (line (read-line port)))
    (while line
      (set! lines (+ lines 1))
      (set! words (+ words (count-words (string-split line blanks) table)))
      (set! line (read-line port)))
    (cons lines words)))

(define (read-by-lines path table)
  (let* ((port (open-input path))
         (counts (count-lines port table)))
    (close-input port)
    counts))

(define (read-at-once path)
  (string-split (read-file path) blanks))

; The word that is there most often; of equals the one that is first in order.
(define (most-frequent table)
  (let ((best "") (best-count 0))
    (for-each (lambda (word)
                (let ((count (table-get table word)))
                  (if (or (> count best-count)
                          (and (= count best-count) (string<? word best)))
                      (begin (set! best word)
                             (set! best-count count)))))
              (table-keys table))
    best))

(define (one-pass)
  (let* ((table (make-table))
         (counts (read-by-lines file table))
         (words (length (read-at-once file))))
    (if (not (= words (cdr counts)))
        (error "two ways of reading " file " found " words " and " (cdr counts) " words"))
    (list (car counts) words (table-count table) (most-frequent table))))

(define result '())
(define pass 0)
(while (< pass passes)
  (set! result (one-pass))
  (set! pass (+ pass 1)))

(display "lines " (car result) " words " (car (cdr result))
         " different " (car (cdr (cdr result))) " most " (car (cdr (cdr (cdr result)))))
(newline)
