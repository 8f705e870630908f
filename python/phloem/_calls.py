"""Long calls: without Python's lock, stopped by Ctrl-C, with callbacks in Python.

The library asks a flag in C whether to stop.  In the main thread the call runs in a thread of its
own, while the main thread waits for it or for Ctrl-C; elsewhere it runs where it is.
"""
import threading

from . import errors
from ._native import ffi, lib


class Call:
    """What one call of the library and its callbacks share."""

    def __init__(self):
        self.error = ffi.new("phl_error *")
        self.context = ffi.new("phlpy_context *")
        self._handle = ffi.new_handle(self)
        self.context.handle = self._handle
        self.notes = []
        self.failure = None  # what a callback in Python raised
        self.interrupted = False
        self.on = {}  # callbacks by name
        self._options = []  # as long as the call

    def connect(self, options, **callbacks):
        """Set the callbacks of an options struct: stopping always, others as asked for."""
        c, fields = options.c, options.fields
        self._options.append(options)
        if "context" in fields:
            c.context = self.context
        if "cancel" in fields:
            c.cancel = ffi.addressof(lib, "phlpy_cancel")
        if "report" in fields:
            c.report = lib.phlpy_on_report
        for name, function in callbacks.items():
            if function is not None:
                self.on[name] = function
                if name in fields:
                    setattr(c, name, getattr(lib, f"phlpy_on_{_type_of(fields[name])}"))
        return options

    def take(self, name, *arguments):
        """A callback, from whatever thread; what it raises ends the call."""
        if self.failure is not None:
            return lib.PHL_ERR_CANCELLED
        try:
            self.on[name](*arguments)
        except BaseException as problem:  # pylint: disable=broad-except
            self.failure = problem
            lib.phlpy_stop(self.context)
            return lib.PHL_ERR_CANCELLED
        return lib.PHL_OK

    def run(self, function, *arguments):
        """Make the call; `error` is added as its last argument.  Returns the status."""
        if threading.current_thread() is threading.main_thread():
            status = self._beside(function, arguments)
        else:
            status = function(*arguments, self.error)
        if self.failure is not None:
            raise self.failure
        return status

    def check(self, function, *arguments):
        """Make the call, raise what it reports, and warn of its notes."""
        status = self.run(function, *arguments)
        errors.warn(self.notes)
        if status != lib.PHL_OK:
            errors.check(status, self.error)
        if self.interrupted:
            raise errors.Interrupted()

    def _beside(self, function, arguments):
        status = []
        done = threading.Event()

        def work():
            try:
                status.append(function(*arguments, self.error))
            except BaseException as problem:  # pylint: disable=broad-except
                self.failure = problem
            finally:
                done.set()

        thread = threading.Thread(target=work, name="phloem", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads: without Ctrl-C, then
            return function(*arguments, self.error)
        while not done.is_set():
            try:
                done.wait()
            except KeyboardInterrupt:
                self.interrupted = True
                lib.phlpy_stop(self.context)
        thread.join()
        return status[0] if status else lib.PHL_ERR_CANCELLED


def _type_of(field):
    """Of a pointer to a phl_NAME_fn, NAME: its declaration tells no more than its arguments."""
    return _CALLBACK_TYPES[field.type.cname]


def _call(context):
    return ffi.from_handle(ffi.cast("phlpy_context *", context).handle)


_CALLBACK_TYPES = {}
for _name in ("progress", "report", "cancel", "forest", "evaluate_progress"):
    _CALLBACK_TYPES[ffi.typeof(f"phl_{_name}_fn").cname] = _name


@ffi.def_extern()
def phlpy_on_report(error, context):
    _call(context).notes.append(errors.note(error))


@ffi.def_extern()
def phlpy_on_progress(progress, context):
    _call(context).take("progress", progress)


@ffi.def_extern()
def phlpy_on_evaluate_progress(progress, context):
    _call(context).take("progress", progress)


@ffi.def_extern()
def phlpy_on_forest(block, context, error):
    call = _call(context)
    return call.take("filled" if "filled" in call.on else "each", block)


def _each(name):
    def each(at, result, context, error):
        return _call(context).take("each", at, result)
    ffi.def_extern(name=f"phlpy_on_{name}", error=lib.PHL_ERR_INTERNAL)(each)


for _name in ("score", "decode", "classify", "label", "features"):
    _each(_name)
