# SPDX-License-Identifier: GPL-2.0
"""Emacs with the package list and a buffer per section open, driven by its server
socket as emacsclient does."""
import subprocess

from app import DATA, Service

PACKAGES = "emacs-nox"

INIT = f""";; -*- lexical-binding: t -*-
(setq gc-cons-threshold (* 64 1024 1024))    ; as many people have it
(setq large-file-warning-threshold nil)
(defvar packages (find-file-noselect "{DATA}/packages.tsv" nil t))
(defvar positions (make-hash-table :test 'equal))
(defvar sections (make-hash-table :test 'equal))
(defun demo-load ()
  (with-current-buffer packages
    (goto-char (point-min))
    (while (not (eobp))
      (let* ((start (point))
             (line (buffer-substring-no-properties start (line-end-position)))
             (fields (split-string line "\\t")))
        (puthash (car fields) start positions)
        (push (cons (string-to-number (nth 3 fields))
                    (format "%s %s %s\\n" (car fields) (nth 1 fields) (nth 3 fields)))
              (gethash (nth 2 fields) sections))
        (forward-line 1))))
  (maphash (lambda (name lines)
             (let ((buffer (generate-new-buffer name)))
               (with-current-buffer buffer
                 (dolist (line (sort lines (lambda (a b) (> (car a) (car b)))))
                   (insert (cdr line))))
               (puthash name buffer sections)))
           sections))

(defun demo-line (name)
  (goto-char (gethash name positions))
  (split-string (buffer-substring-no-properties (point) (line-end-position)) "\\t"))

(defun demo-lines (count)
  (let ((lines nil))
    (dotimes (_ count (nreverse lines))
      (unless (eobp)
        (push (buffer-substring-no-properties (point) (line-end-position)) lines)
        (forward-line 1)))))

(defun demo-section (name)
  (with-current-buffer (gethash name sections)
    (goto-char (point-min))
    (list name (count-lines (point-min) (point-max)) (demo-lines 10))))

(defun demo-search (word)
  (with-current-buffer packages
    (goto-char (point-min))
    (let ((found nil))
      (while (and (length< found 5) (search-forward word nil t))
        (push (buffer-substring-no-properties (line-beginning-position) (point)) found)
        (forward-line 1))
      found)))

(defun demo-closure (name)
  (with-current-buffer packages
    (let ((seen (make-hash-table :test 'equal)) (todo (list name)) (sum 0))
      (while todo
        (let ((next (pop todo)))
          (when (and (gethash next positions) (not (gethash next seen)))
            (puthash next t seen)
            (let ((fields (demo-line next)))
              (setq sum (+ sum (string-to-number (nth 3 fields)))
                    todo (append (split-string (nth 5 fields) "," t) todo))))))
      (list name (hash-table-count seen) sum))))

(defun demo-prefix (text)
  (with-current-buffer packages
    (let ((low (point-min)) (high (point-max)))
      (while (< low high)
        (goto-char (/ (+ low high) 2))
        (forward-line 0)
        (if (string< (buffer-substring-no-properties (point) (+ (point) (length text))) text)
            (setq low (progn (forward-line 1) (point)))
          (setq high (point))))
      (goto-char low)
      (demo-lines 20))))

(mapc #'byte-compile '(demo-load demo-line demo-lines demo-section demo-search
                       demo-closure demo-prefix))
(demo-load)
"""


def quote(text):
    """As emacsclient sends an argument."""
    for char, code in (("&", "&&"), ("-", "&-"), (" ", "&_"), ("\n", "&n")):
        text = text.replace(char, code)
    return text


class App(Service):
    def start(self):
        self.address = self.path("emacs/demo")
        # The server's socket is there before the init file has been read to its end.
        self.spawn(["emacs", "-Q", "--fg-daemon=demo", "-l", self.path("init.el", INIT)],
                   stdout=subprocess.DEVNULL)
        self.wait_for_socket().close()
        self.eval("(hash-table-count positions)", self.start_timeout)

    def eval(self, form, timeout=None):
        with self.connect() as sock:
            sock.settimeout(timeout or self.answer_timeout)
            sock.sendall(f"-eval {quote(form)} \n".encode())
            reply = b"".join(iter(lambda: sock.recv(1 << 16), b""))
        if b"\n-print " not in reply:
            self.fail(f"no answer: {reply[:200]!r}")
        return reply

    def request(self, questions):
        return self.eval("(list %s)" % " ".join(
            f'(demo-{kind} "{arg}")' for kind, arg in questions))
