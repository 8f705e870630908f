/* objects.c - trees of Python's objects into a builder; see phlpy_build_plain in binding.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 1 << 18 }; /* nodes on the way down; a cycle would never end */

/* A node that is open: its children are items first .. size - 1 of a list or tuple. */
typedef struct open_object {
    PyObject *items; /* borrowed: nothing changes it while Python's lock is held */
    Py_ssize_t next, size;
    uint32_t slot;
    bool tuple;
} open_object;

typedef struct objects {
    PyTypeObject *labelled;
    PyObject *label_name; /* "_label" */
    phl_builder *builder;
    phl_error *error;
    phl_status status;
    bool plain;
    open_object *open;
    size_t depth, capacity;
} objects;

static void open_label(objects *o, PyObject *label, uint32_t slot)
{
    const char *text = NULL;
    Py_ssize_t size = 0;
    if (label != Py_None) {
        text = PyUnicode_CheckExact(label) ? PyUnicode_AsUTF8AndSize(label, &size) : NULL;
        if (!text || strlen(text) != (size_t)size) {
            PyErr_Clear();
            o->plain = false;
            return;
        }
    }
    o->status = phl_builder_open(o->builder, text, slot, o->error);
}

static void push(objects *o, PyObject *items, Py_ssize_t first, bool tuple)
{
    if (o->depth == o->capacity) {
        size_t capacity = o->capacity ? 2 * o->capacity : 64;
        open_object *grown = realloc(o->open, capacity * sizeof *grown);
        if (!grown || capacity > DEEPEST) {
            o->open = grown ? grown : o->open;
            o->plain = false;
            return;
        }
        o->open = grown;
        o->capacity = capacity;
    }
    o->open[o->depth++] = (open_object){.items = items,
                                        .next = first,
                                        .size = tuple ? PyTuple_Size(items) : PyList_Size(items),
                                        .tuple = tuple};
}

/* Open a node; a leaf is closed at once. */
static void enter(objects *o, PyObject *node, uint32_t slot)
{
    bool tuple = PyTuple_CheckExact(node);
    if (PyUnicode_CheckExact(node)) {
        open_label(o, node, slot);
        if (o->plain && o->status == PHL_OK) {
            o->status = phl_builder_close(o->builder, o->error);
        }
    } else if (Py_TYPE(node) == o->labelled) {
        PyObject *label = PyObject_GetAttr(node, o->label_name);
        if (!label) {
            PyErr_Clear();
            o->plain = false;
            return;
        }
        open_label(o, label, slot);
        Py_DECREF(label);
        push(o, node, 0, false);
    } else if ((tuple && PyTuple_Size(node) > 0) ||
               (PyList_CheckExact(node) && PyList_Size(node) > 0)) {
        open_label(o, tuple ? PyTuple_GetItem(node, 0) : PyList_GetItem(node, 0), slot);
        push(o, node, 1, tuple);
    } else {
        o->plain = false;
    }
}

static bool good(const objects *o)
{
    return o->plain && o->status == PHL_OK;
}

static void build_tree(objects *o, PyObject *tree)
{
    enter(o, tree, 1);
    while (good(o) && o->depth > 0) {
        open_object *top = &o->open[o->depth - 1];
        if (top->next == top->size) {
            o->status = phl_builder_close(o->builder, o->error);
            o->depth--;
            continue;
        }
        PyObject *child = top->tuple ? PyTuple_GetItem(top->items, top->next)
                                     : PyList_GetItem(top->items, top->next);
        top->next++;
        top->slot++;
        if (child != Py_None) {
            enter(o, child, top->slot);
        }
    }
}

phl_status phlpy_build_plain(phl_builder *builder, void *trees, void *labelled,
                             const phl_tree_info *infos, bool *plain, phl_error *error)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    objects o = {.labelled = labelled,
                 .label_name = PyUnicode_FromString("_label"),
                 .builder = builder,
                 .error = error,
                 .plain = true};
    if (!o.label_name) {
        PyErr_Clear();
        o.plain = false;
    }
    Py_ssize_t n = PyList_Size(trees);
    for (Py_ssize_t i = 0; good(&o) && i < n; i++) {
        build_tree(&o, PyList_GetItem(trees, i));
        if (good(&o)) {
            o.status = phl_builder_end_tree(builder, infos ? &infos[i] : NULL, error);
        }
    }
    Py_XDECREF(o.label_name);
    free(o.open);
    PyGILState_Release(lock);
    *plain = o.plain;
    return o.plain ? o.status : PHL_OK;
}
