/* reader.h - what a format's reader works with.
 *
 * A reader turns one input into calls on the builder and ends every tree with
 * phl_reader_end_tree, or phl_reader_bad_tree when something is wrong with it; it returns when the
 * input ends, a call fails, or reader->pause is set.  After a pause it is called again, unless the
 * caller has enough, and goes on from reader->state.  Format drivers are listed in format.c.
 */
#ifndef PHL_FORMAT_READER_H
#define PHL_FORMAT_READER_H

#include "base/text.h"
#include "forest/builder.h"
#include "format/input.h"
#include "format/lines.h"

typedef struct phl_reader {
    const phl_read_options *options; /* caps resolved: no zeros */
    phl_builder *builder;
    phl_input *input;
    const char *file;         /* name for messages and sources */
    const char *folder_class; /* the folder's name, or NULL */
    phl_read_summary *summary;
    void *state;      /* the format's own */
    size_t max_trees; /* pause when the builder holds so many trees, */
    size_t max_size;  /* or so many distinct subtrees and links together */
    bool pause;       /* set by phl_reader_end_tree: return after this tree */
    bool ended;       /* set by the format's reader: the input holds no more trees */
} phl_reader;

/* A class, id or label as it stands in the input: not NUL-terminated. bytes NULL: absent. */
typedef struct phl_span {
    const char *bytes;
    size_t length;
} phl_span;

/* The root was closed: enter the tree, unless options filter it out.  weight 0 is 1. */
phl_status phl_reader_end_tree(phl_reader *reader, phl_span class_name, double weight, phl_span id,
                               uint64_t line, phl_error *error);

/* The same for a document that is a file: its class is the name of the folder, its line unknown. */
phl_status phl_reader_end_document(phl_reader *reader, phl_error *error);

/* Refuse a name of more bytes than options allow; `what` goes before it. */
phl_status phl_reader_check_name(const phl_reader *reader, phl_position place, const char *what,
                                 const char *name, size_t length, phl_error *error);

/* A label of two parts, "first+second", in place of what `label` held. */
phl_status phl_reader_join_label(phl_text *label, const char *first, size_t length,
                                 const char *second, size_t second_length, phl_error *error);

/* Elements are nested deeper than options allow. */
phl_status phl_reader_raise_depth(const phl_reader *reader, phl_position place, phl_error *error);

/* The tree under construction is bad for the reason in *error (which must not be NULL; `status` is
 * error->status): it is forgotten.  Returns PHL_OK if the reader is to pass over it and go on, else
 * the status to return. */
phl_status phl_reader_bad_tree(phl_reader *reader, phl_status status, phl_error *error);

/* Give the lines of the input to `take`, until the input ends or the block is full; what fails is a
 * bad tree. */
typedef phl_status (*phl_line_fn)(void *state, const char *line, size_t length, phl_error *error);
phl_status phl_reader_lines(phl_reader *reader, phl_lines *lines, phl_line_fn take,
                            phl_error *error);

/* True now and then when the caller wants to stop; raises PHL_ERR_CANCELLED. Cheap. */
phl_status phl_reader_check_cancel(phl_reader *reader, phl_error *error);

#endif
