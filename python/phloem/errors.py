"""Errors of the library as exceptions, and its notes as warnings."""
import re
import warnings

from ._native import ffi, lib

# Options and calls stand between these marks in the library's texts (phl_error_format).
MARKED = re.compile("\x01([^\x01\x02]*)\x02?")
# Calls in Python's words.
CALLS = {
    "phl_train": "Run.train()",
    "phl_train_file": "Run.train()",
    "phl_train_classifier": "Run.train_classifier()",
    "phl_resume": "Run.resume()",
    "phl_run_open": "Run.open()",
    "phl_run_save": "Run.save()",
    "phl_classify": "Run.classify()",
    "phl_score": "Run.score()",
    "phl_label": "Run.label()",
    "phl_decode": "Run.decode()",
    "phl_sample": "Run.sample()",
    "phl_diagnose": "Run.diagnose()",
    "phl_features_create": "Features()",
    "phl_forest_read": "Forest.read()",
    "phl_forest_read_memory": "Forest.parse()",
}


def _words(match):
    name, equals, value = match.group(1).partition("=")
    if name.startswith("phl_"):
        return CALLS.get(name, name)
    name = name.rpartition(".")[2]
    if name.startswith("n_") and name != "n_folds":
        name = name[2:]  # the length of an array, which Python knows
    if not equals:
        return name
    if not value:
        return f"{name}=..."
    return f"{name}={value}" if re.fullmatch(r"-?[\d.]+(e-?\d+)?", value) else f"{name}={value!r}"


def render(text):
    """A text of the library with options and calls by their names in Python."""
    return MARKED.sub(_words, text)


class Note(UserWarning):
    """Something that a user should know about a call that succeeded."""


class Error(Exception):
    """What went wrong, why, and what to do about it.

    message, remedy -- cause, and what can be done (may be empty)
    file, line, column -- place in the input; None where there is none
    status -- the library's number for it
    """

    def __init__(self, message, remedy="", file=None, line=None, column=None, status=0):
        self.message, self.remedy, self.status = message, remedy, status
        self.file, self.line, self.column = file, line, column
        super().__init__(message)

    def __str__(self):
        place = self.file or ""
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}; {self.remedy}" if self.remedy else text

    def __reduce__(self):
        return type(self), (self.message, self.remedy, self.file, self.line, self.column,
                            self.status)


class ArgumentError(Error, ValueError):
    """What the program asked for is out of range or contradicts itself."""


class DataError(Error, ValueError):
    """What is in a file, a text or a tree."""


class FileError(Error, OSError):
    """Files and the machine."""


class OutOfMemory(Error, MemoryError):
    """Memory is used up."""


class InternalError(Error, RuntimeError):
    """A defect of Phloem: please report it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a call.  `run` is what a training had reached; None: nothing yet."""

    def __init__(self, message="interrupted", run=None):
        super().__init__(message)
        self.run = run


_GROUPS = {
    lib.PHL_GROUP_USAGE: ArgumentError,
    lib.PHL_GROUP_DATA: DataError,
    lib.PHL_GROUP_SYSTEM: FileError,
    lib.PHL_GROUP_INTERNAL: InternalError,
}


def text_of(chars):
    """A C string as str; None stays None."""
    return None if chars == ffi.NULL else ffi.string(chars).decode("utf-8", "replace")


def exception(error):
    """The exception for a filled phl_error."""
    kind = _GROUPS.get(lib.phl_status_group(error.status), Error)
    if error.status == lib.PHL_ERR_MEMORY:
        kind = OutOfMemory
    return kind(render(text_of(error.message)), render(text_of(error.remedy)),
                text_of(error.file) or None, int(error.line) or None, int(error.column) or None,
                int(error.status))


def check(status, error):
    """Raise what a call reported."""
    if status != lib.PHL_OK:
        if error.status == lib.PHL_OK:
            error.status = status
        if status == lib.PHL_ERR_CANCELLED:
            raise Interrupted()
        raise exception(error)


def note(error):
    """A borrowed phl_error that is a note, or a skipped tree, as a line of text."""
    known = exception(error)
    return str(known) if error.status == lib.PHL_OK else f"skipped: {known}"


def warn(notes):
    """Notes of a call, as warnings at the line of the program that made it."""
    for text in notes:
        warnings.warn(text, Note, stacklevel=_outside())


def _outside():
    """How far up the first frame outside the package is, for warnings.warn."""
    import sys
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("phloem"):
        level, frame = level + 1, frame.f_back
    return level
