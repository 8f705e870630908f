/* phloem.h - the one public header of libphloem.
 *
 * Phloem learns from tree-shaped data.  This header is everything the command line and the
 * bindings use.
 *
 * Conventions
 *  - What a call makes belongs to the caller and is released by the `free` call of its type;
 *    freeing NULL is fine.  A `const` argument is borrowed, for the time of the call unless the
 *    call says otherwise; so is what a call returns by a pointer to const.
 *  - Every call that can fail returns a phl_status (PHL_OK is 0, failures are negative) and takes a
 *    `phl_error *` as its last argument, which may be NULL.  Outputs come right before it.  A call
 *    that fails leaves every output untouched; arrays that a caller provides may hold part of the
 *    result.  Calls that return something else cannot fail.
 *  - Counts, and numbers of trees, nodes, classes, draws and chains, are size_t; slots (from 1),
 *    states and distinct subtrees are uint32_t; labels, and the class of a tree, which may have
 *    none, are int32_t, -1 for none.
 *  - Options are structs that may grow at their end.  Their first member is their size, which the
 *    init call sets together with the defaults; a struct that was not filled by init is refused.
 *    So a program compiled against an older header works with a newer library.  NULL means the
 *    defaults.  (Where there is no sizeof, call init_sized with the bytes of the struct.)
 *  - Structs that the library makes or hands to a callback may grow at their end, too.  Those that
 *    a caller provides for it to fill, and the elements of arrays, are frozen.
 *  - Const calls on one object may be made from several threads at once.  Threads that a call makes
 *    have ended when it returns, so that a child of fork() may use the library like its parent.
 *  - Strings are UTF-8 without NUL bytes.
 *  - The library never prints, never exits and holds no global state.
 *
 * Contents: 1 errors, 2 callbacks, 3 building a forest, 4 querying a forest, 5 combining forests,
 * 6 reading, 7 writing, 8 statistics, 9 generators, 10 models and training, 11 using a run,
 * 12 features and linear classifiers, 13 cross-validation, 14 diagnosis.
 */
#ifndef PHLOEM_H
#define PHLOEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PHL_API __attribute__((visibility("default")))
#define PHL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PHL_API
#define PHL_PRINTF(fmt, args)
#endif

/* Version of the library, "major.minor.patch". */
PHL_API const char *phl_version(void);
/* The library, what it can do and what compiled it, in words for people: three lines. */
PHL_API const char *phl_version_details(void);

/* ---------------------------------------------------------------------------------------------
 * 1. Errors
 * ------------------------------------------------------------------------------------------- */

/* Grouped by hundreds; phl_status_group tells the group. */
typedef enum phl_status {
    PHL_OK = 0,
    PHL_ERR_ARGUMENT = -201,   /* a caller's argument is out of range or contradicts another */
    PHL_ERR_SYNTAX = -301,     /* input is not what its format prescribes */
    PHL_ERR_ENCODING = -302,   /* input is not UTF-8, or holds a NUL byte */
    PHL_ERR_LIMIT = -303,      /* input passes a cap that an option can raise */
    PHL_ERR_FORMAT = -304,     /* the format of an input is not recognised */
    PHL_ERR_EXPRESS = -305,    /* a tree holds something the output format cannot express */
    PHL_ERR_EMPTY = -306,      /* an operation needs at least one tree */
    PHL_ERR_CHANGED = -307,    /* the data are not those that a run was trained on */
    PHL_ERR_CLASS = -308,      /* a tree is of a class that the run does not know */
    PHL_ERR_OPEN = -401,       /* a file or folder cannot be opened, or holds no trees */
    PHL_ERR_READ = -402,       /* reading failed */
    PHL_ERR_WRITE = -403,      /* writing failed (disk full, no permission, ...) */
    PHL_ERR_MEMORY = -404,     /* memory is used up */
    PHL_ERR_INTERNAL = -501,   /* a defect in the library */
    PHL_ERR_CANCELLED = -13000 /* the caller's cancel callback said stop */
} phl_status;

/* What went wrong, why, and what to do about it.  A plain struct with room of its own, so that it
 * can be filled when memory is used up.  Strings are always terminated; long ones are cut.  Frozen.
 */
typedef struct phl_error {
    phl_status status;
    char message[640]; /* cause: what was found, what was expected */
    char remedy[320];  /* what the user can do; may be empty */
    char file[512];    /* input the error is in; may be empty */
    uint64_t line;     /* 1-based; 0 = not known */
    uint64_t column;   /* 1-based, counted in characters; 0 = not known */
} phl_error;

/* Whose matter it is. */
typedef enum phl_group {
    PHL_GROUP_OK = 0,
    PHL_GROUP_USAGE,    /* the program's, or what its user asked for */
    PHL_GROUP_DATA,     /* what is in a file */
    PHL_GROUP_SYSTEM,   /* files, memory, the machine */
    PHL_GROUP_INTERNAL, /* ours: please report it */
    PHL_GROUP_CANCELLED /* nobody's */
} phl_group;

PHL_API phl_group phl_status_group(phl_status status);

/* "file:line:column: message; remedy" into buffer (always terminated).  Returns buffer.
 *
 * Messages, remedies and the findings of a diagnosis name options as members of their structs, and
 * calls of the library, between the control characters 1 and 2, which cannot come from elsewhere:
 * "train.seed" (phl_train_options), "train.learner=em" (set to that), "read.max_name=" (set to some
 * value), "phl_resume".  phl_error_format turns them into "seed", "learner = em", "max_name",
 * "phl_resume".  A front end that calls them by other names uses the other two. */
PHL_API char *phl_error_format(const phl_error *error, char *buffer, size_t size);

/* Write a front end's words for an option ("train.seed") or a call ("phl_resume") into out; value:
 * NULL, "" (any) or what it is to be set to.  False: there are none, the plain name will do. */
typedef bool (*phl_name_fn)(const char *name, const char *value, char *out, size_t size,
                            void *context);

PHL_API char *phl_error_render(const phl_error *error, phl_name_fn name, void *context,
                               char *buffer, size_t size);
/* The same for a text alone. */
PHL_API char *phl_error_render_text(const char *text, phl_name_fn name, void *context, char *buffer,
                                    size_t size);

/* ---------------------------------------------------------------------------------------------
 * 2. Callbacks
 * ------------------------------------------------------------------------------------------- */

/* Asked now and then during long calls; returning true stops the call with PHL_ERR_CANCELLED. */
typedef bool (*phl_cancel_fn)(void *context);

/* Given every tree or file that was skipped (phl_read_options.skip_bad) and every note a user
 * should see; the error record is borrowed for the duration of the call.  Notes have status
 * PHL_OK. */
typedef void (*phl_report_fn)(const phl_error *error, void *context);

/* ---------------------------------------------------------------------------------------------
 * 3. Building a forest
 *
 * A forest is stored once, as its distinct subtrees.  Identity of an internal node: its label and
 * its list of (slot, child).  Identity of a leaf: its label and its slot.  The root sits in slot 1.
 * ------------------------------------------------------------------------------------------- */

typedef struct phl_forest phl_forest;
typedef struct phl_builder phl_builder;

typedef struct phl_builder_options {
    size_t size;     /* set by init */
    bool no_sharing; /* keep every occurrence as a subtree of its own (tests, benchmarks) */
} phl_builder_options;

#define phl_builder_options_init(options)                                                          \
    phl_builder_options_init_sized((options), sizeof *(options))
PHL_API void phl_builder_options_init_sized(phl_builder_options *options, size_t size);

/* What a tree carries beside its nodes.  Frozen: it never gets more members. */
typedef struct phl_tree_info {
    const char *class_name; /* NULL: no class */
    double weight;          /* 0 is read as 1; otherwise finite and > 0 */
    const char *id;         /* NULL: none */
    const char *file;       /* where it came from; NULL: nowhere */
    uint64_t line;          /* line in file; 0: not known */
} phl_tree_info;

PHL_API phl_status phl_builder_create(const phl_builder_options *options, phl_builder **builder,
                                      phl_error *error);
PHL_API void phl_builder_free(phl_builder *builder);

/* Open a node in `slot` (1-based) of the innermost open node, or the root (slot 1) when none is
 * open; label NULL = unknown.  Children may be opened in any order of slots; a slot given twice is
 * an error when the parent is closed. */
PHL_API phl_status phl_builder_open(phl_builder *builder, const char *label, uint32_t slot,
                                    phl_error *error);
PHL_API phl_status phl_builder_close(phl_builder *builder, phl_error *error);

/* The root was closed: the tree enters the forest. */
PHL_API phl_status phl_builder_end_tree(phl_builder *builder, const phl_tree_info *info,
                                        phl_error *error);

/* Forget the tree under construction and everything only it brought in.  Also what any failing
 * builder call does by itself. */
PHL_API void phl_builder_abandon_tree(phl_builder *builder);

/* Freeze.  The builder is used up, on failure too, and must still be freed. */
PHL_API phl_status phl_builder_finish(phl_builder *builder, phl_forest **forest, phl_error *error);

PHL_API void phl_forest_free(phl_forest *forest);

/* ---------------------------------------------------------------------------------------------
 * 4. Querying a forest
 *
 * Distinct subtrees are numbered 0..n-1 by height, so children come before their parents; those of
 * height h are phl_forest_level(h) .. phl_forest_level(h + 1) - 1.
 * ------------------------------------------------------------------------------------------- */

#define PHL_UNKNOWN (-1) /* label of a node whose label is not known */
#define PHL_NO_CLASS (-1)

/* A child of an internal node.  Frozen. */
typedef struct phl_link {
    uint32_t slot;  /* 1-based */
    uint32_t child; /* distinct subtree */
} phl_link;

PHL_API size_t phl_forest_trees(const phl_forest *forest);
PHL_API size_t phl_forest_labels(const phl_forest *forest);
PHL_API size_t phl_forest_classes(const phl_forest *forest);
PHL_API size_t phl_forest_subtrees(const phl_forest *forest);
PHL_API size_t phl_forest_links(const phl_forest *forest); /* links of distinct subtrees */
PHL_API size_t phl_forest_levels(const phl_forest *forest);
PHL_API size_t phl_forest_level(const phl_forest *forest, size_t height);
PHL_API uint32_t phl_forest_max_slot(const phl_forest *forest); /* 1 for single nodes, 0 if empty */
PHL_API bool phl_forest_is_shared(const phl_forest *forest);

PHL_API const char *phl_forest_label_name(const phl_forest *forest, int32_t label);
PHL_API const char *phl_forest_class_name(const phl_forest *forest, int32_t class_index);
PHL_API int32_t phl_forest_find_label(const phl_forest *forest, const char *name); /* or -1 */
PHL_API int32_t phl_forest_find_class(const phl_forest *forest, const char *name); /* or -1 */

/* Of one tree, 0 <= tree < phl_forest_trees. */
PHL_API uint32_t phl_tree_root(const phl_forest *forest, size_t tree);
PHL_API int32_t phl_tree_class(const phl_forest *forest, size_t tree);
PHL_API double phl_tree_weight(const phl_forest *forest, size_t tree);
PHL_API const char *phl_tree_id(const phl_forest *forest, size_t tree);   /* or NULL */
PHL_API const char *phl_tree_file(const phl_forest *forest, size_t tree); /* or NULL */
PHL_API uint64_t phl_tree_line(const phl_forest *forest, size_t tree);    /* or 0 */

/* Of one distinct subtree. */
PHL_API int32_t phl_subtree_label(const phl_forest *forest, uint32_t subtree);
PHL_API uint32_t phl_subtree_leaf_slot(const phl_forest *forest,
                                       uint32_t subtree); /* 0: internal */
PHL_API size_t phl_subtree_links(const phl_forest *forest, uint32_t subtree,
                                 const phl_link **links); /* ascending slots */
PHL_API int64_t phl_subtree_multiplicity(const phl_forest *forest, uint32_t subtree);

/* The same as arrays, the forest's own: n subtrees, E links, T trees.  Frozen. */
typedef struct phl_forest_arrays {
    const int32_t *label;        /* [n] or PHL_UNKNOWN */
    const uint32_t *leaf_slot;   /* [n] 0: internal */
    const int64_t *multiplicity; /* [n] */
    const uint64_t *first_link;  /* [n + 1] the links of subtree s are first_link[s] .. */
    const phl_link *links;       /* [E] .. first_link[s + 1] - 1 */
    const uint32_t *tree_root;   /* [T] */
    const int32_t *tree_class;   /* [T] or PHL_NO_CLASS */
    const double *tree_weight;   /* [T]; NULL when every weight is 1 */
} phl_forest_arrays;

PHL_API void phl_forest_view(const phl_forest *forest, phl_forest_arrays *arrays);

/* Walk one tree node by node in pre-order, without recursion. */
typedef struct phl_walk phl_walk;

/* A node on the way.  Frozen. */
typedef struct phl_visit {
    size_t node;      /* 0-based number in pre-order */
    size_t parent;    /* number of the parent; SIZE_MAX at the root */
    size_t depth;     /* 0 at the root */
    uint32_t slot;    /* 1-based slot in the parent */
    uint32_t gap;     /* empty slots between the sibling before (or the start) and this node */
    uint32_t subtree; /* distinct subtree at this node */
    int32_t label;    /* or PHL_UNKNOWN */
    bool leaf;
} phl_visit;
PHL_API phl_status phl_walk_create(const phl_forest *forest, phl_walk **walk, phl_error *error);
PHL_API void phl_walk_free(phl_walk *walk);
PHL_API void phl_walk_start(phl_walk *walk, size_t tree);
/* 1: *visit is the next node; 0: the tree is done; negative: a phl_status. */
PHL_API int phl_walk_next(phl_walk *walk, phl_visit *visit, phl_error *error);

/* 128 bits over the trees as written: labels, shapes, slots, classes, weights; not ids, sources or
 * the numbering of labels.  As a set (the order of trees does not matter) or as a sequence.  For
 * telling data sets apart, not for security.  Writes 32 hexadecimal digits and a NUL. */
PHL_API phl_status phl_forest_fingerprint(const phl_forest *forest, bool ordered, char out[33],
                                          phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 5. Combining forests
 * ------------------------------------------------------------------------------------------- */

/* One forest of all trees, in order, over the union of the alphabets (the first one's numbering
 * comes first).  Shared if all are shared. */
PHL_API phl_status phl_forest_concat(const phl_forest *const *forests, size_t n,
                                     phl_forest **forest, phl_error *error);

/* The trees listed, in that order (repeats allowed), over the same alphabet and classes. */
PHL_API phl_status phl_forest_select(const phl_forest *forest, const size_t *trees, size_t n,
                                     phl_forest **selected, phl_error *error);

/* Ways to write trees as other trees with the same nodes in the same order (pre-order). */
typedef enum phl_encoding {
    PHL_ENCODING_NONE = 0,
    PHL_ENCODING_FIRST_CHILD /* slot 1 holds a node's first child, slot 2 its next sibling; larger
                                slots where slots are empty (formats.md) */
} phl_encoding;

/* The trees encoded, and back.  Labels, classes and what else trees carry stay as they are, with
 * their numbers; decoding what was encoded gives the trees again.  PHL_ERR_EXPRESS: a tree that no
 * tree is encoded as, or slots that become too large. */
PHL_API phl_status phl_forest_encode(const phl_forest *forest, phl_encoding encoding,
                                     phl_forest **encoded, phl_error *error);
PHL_API phl_status phl_forest_decode(const phl_forest *forest, phl_encoding encoding,
                                     phl_forest **decoded, phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 6. Reading
 * ------------------------------------------------------------------------------------------- */

typedef enum phl_format {
    PHL_FORMAT_AUTO = 0, /* by name, else by content */
    PHL_FORMAT_BRACKETS,
    PHL_FORMAT_JSON,
    PHL_FORMAT_ELASTIC,
    PHL_FORMAT_XML,
    PHL_FORMAT_CONLLU,
    PHL_FORMAT_PTB,
    PHL_FORMAT_HTML, /* read only, as DBN and CT */
    PHL_FORMAT_NEWICK,
    PHL_FORMAT_DBN, /* RNA structures: dots and brackets */
    PHL_FORMAT_CT   /* RNA structures: connectivity tables */
} phl_format;

PHL_API const char *phl_format_name(phl_format format);
/* By its name ("brackets", ...); PHL_FORMAT_AUTO if there is none such. */
PHL_API phl_format phl_format_find(const char *name);
/* By a file's name, endings .gz and .zst ignored; PHL_FORMAT_AUTO if it is not recognised. */
PHL_API phl_format phl_format_of_file(const char *path);

typedef enum phl_conllu_label {
    PHL_CONLLU_UPOS = 0,
    PHL_CONLLU_DEPREL,
    PHL_CONLLU_FORM,
    /* Two columns, "NOUN+nsubj"; the first alone where the second is not known.  When writing, the
     * column is the first. */
    PHL_CONLLU_UPOS_DEPREL,
    PHL_CONLLU_FORM_UPOS,
    PHL_CONLLU_FORM_DEPREL
} phl_conllu_label;

typedef struct phl_read_options {
    size_t size; /* set by init */
    phl_format format;
    bool no_sharing;        /* as in phl_builder_options */
    bool skip_bad;          /* report bad trees and go on */
    const char *class_name; /* class of every tree; NULL: as the input says */
    bool no_class;          /* drop classes */
    bool class_by_folder;   /* class = the folder's name, for every format (XML, HTML: always)
                             */
    const char *const *only_classes; /* keep trees of these classes only, before no_class ... */
    size_t n_only_classes;           /* ... 0: all */
    size_t limit;                    /* stop after this many trees; 0: no limit */
    bool xml_attributes;             /* XML, HTML: attributes as leaves labelled "@name" */
    bool xml_text;                   /* XML, HTML: text as leaves labelled "#text" */
    bool ptb_drop_words;             /* leave words out of parse trees */
    phl_conllu_label conllu_label;
    /* Blocks of a source end after the tree with which they have so many trees, or distinct
     * subtrees and links together; 0 = default, SIZE_MAX = no bound. */
    size_t block_trees; /* 100,000 */
    size_t block_size;  /* 1,000,000 */
    /* Caps; 0 = default. */
    uint64_t max_nodes;      /* nodes per tree: 100,000,000 */
    uint64_t max_children;   /* highest slot: 10,000,000 */
    uint64_t max_depth;      /* XML, HTML: nesting: 10,000 */
    uint64_t max_attributes; /* XML, HTML: attributes an element: 10,000 */
    uint64_t max_name;       /* bytes of a label or class: 65,536 */
    uint64_t max_token;      /* bytes of one line of text or one piece of markup: 1 GiB, XML
                              * 16 MiB; of an HTML page: 64 MiB */
    uint64_t max_ratio;      /* decompressed to compressed size (past 64 MiB): 1,000 */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;                /* for both callbacks */
    const char *const *html_skip; /* HTML: leave out elements of these names, and what is in them */
    size_t n_html_skip;
    /* The class is the name of the class_level-th folder below the folder that was named, from 1,
     * for every format; 0: not. */
    uint32_t class_level;
    const char *const *endings; /* "svg=xml": files with this ending are of this format ... */
    size_t n_endings;           /* ... beside those that formats have by themselves */
    const char *xml_label; /* XML, HTML: the value of this attribute is part of the label, behind a
                            * plus: "div+menu"; NULL: the name alone */
    bool newick_lengths;   /* Newick: the power of two of a branch's length is part of the label */
    bool rna_runs;         /* RNA: a run of unpaired bases is one leaf, not each base */
    bool rna_drop_knots;   /* RNA: of two pairs that cross, drop the one that opens later */
    bool rna_family;       /* RNA: the second word of a title is the class */
} phl_read_options;

/* What was read.  Frozen. */
typedef struct phl_read_summary {
    uint64_t files;
    uint64_t trees;   /* that entered the forest */
    uint64_t skipped; /* bad trees skipped (skip_bad) */
    uint64_t bytes;   /* of text, after decompression */
} phl_read_summary;

#define phl_read_options_init(options) phl_read_options_init_sized((options), sizeof *(options))
PHL_API void phl_read_options_init_sized(phl_read_options *options, size_t size);

/* Read files and folders ("-" is standard input) into one forest.  A folder stands for every file
 * below it whose name has a known ending, in order of name; what of that cannot be read is an
 * error, or a bad tree (skip_bad).  `summary` may be NULL. */
PHL_API phl_status phl_forest_read(const char *const *paths, size_t n_paths,
                                   const phl_read_options *options, phl_forest **forest,
                                   phl_read_summary *summary, phl_error *error);

/* The same from memory; `name` stands for the file in errors and sources.  A format must be given,
 * or be recognisable from the content. */
PHL_API phl_status phl_forest_read_memory(const void *text, size_t size, const char *name,
                                          const phl_read_options *options, phl_forest **forest,
                                          phl_read_summary *summary, phl_error *error);

/* A source of trees, for whoever takes any number of them in bounded memory: files and folders, a
 * text, or a forest.  It gives them block by block; a block is a forest of its own, with its own
 * numbers of labels and classes, its trees numbered from 0, while sources, ids and lines are those
 * of the input.  What options, text and name point to, and the forest, must outlive the source. */
typedef struct phl_source phl_source;

PHL_API phl_status phl_source_open(const char *const *paths, size_t n_paths,
                                   const phl_read_options *options, phl_source **source,
                                   phl_error *error);
PHL_API phl_status phl_source_memory(const void *text, size_t size, const char *name,
                                     const phl_read_options *options, phl_source **source,
                                     phl_error *error);
/* The forest is the one block.  Every task (section 11) begins with it anew. */
PHL_API phl_status phl_source_forest(const phl_forest *forest, phl_source **source,
                                     phl_error *error);
PHL_API void phl_source_free(phl_source *source);

/* The next block, borrowed until the next call on the source; NULL when there is no tree left.
 * Blocks one after the other hold the trees, and meet the errors and reports, of phl_forest_read.
 * Trees before an error are handed out first, as a block; then the call fails, and so does every
 * further one.  Cancelled, it fails at once. */
PHL_API phl_status phl_source_next(phl_source *source, const phl_forest **block, phl_error *error);

/* The files that the paths stand for, in the order they are read ("-": standard input). */
PHL_API size_t phl_source_files(const phl_source *source); /* 0: a forest */
PHL_API const char *phl_source_file(const phl_source *source, size_t file);

/* What was read so far; a file counts when it is done with. */
PHL_API void phl_source_summary(const phl_source *source, phl_read_summary *summary);

/* ---------------------------------------------------------------------------------------------
 * 7. Writing
 * ------------------------------------------------------------------------------------------- */

typedef struct phl_write_options {
    size_t size;       /* set by init */
    phl_format format; /* AUTO: by the name of the output, else brackets */
    phl_conllu_label conllu_label;
    bool force;           /* XML: write into a folder that is not empty */
    phl_report_fn report; /* notes: what the format leaves out (ids) */
    phl_cancel_fn cancel;
    void *context;
} phl_write_options;

#define phl_write_options_init(options) phl_write_options_init_sized((options), sizeof *(options))
PHL_API void phl_write_options_init_sized(phl_write_options *options, size_t size);

/* Write all trees to a file ("-" is standard output), compressed when its name ends in .gz or .zst.
 * The file is replaced only when complete.  XML with more than one tree: `path` is a folder, made
 * if need be, with one folder per class.  A tree the format cannot express is refused with
 * PHL_ERR_EXPRESS before anything is replaced. */
PHL_API phl_status phl_forest_write(const phl_forest *forest, const char *path,
                                    const phl_write_options *options, phl_error *error);

/* A place for trees that come in blocks: what was written is put in place by phl_sink_finish, and
 * nothing is left behind without (but on standard output).  XML is kept in memory until then: one
 * document is a file, several are a folder. */
typedef struct phl_sink phl_sink;

PHL_API phl_status phl_sink_open(const char *path, const phl_write_options *options,
                                 phl_sink **sink, phl_error *error);
PHL_API void phl_sink_free(phl_sink *sink);
PHL_API phl_status phl_sink_write(phl_sink *sink, const phl_forest *block, phl_error *error);
PHL_API phl_status phl_sink_finish(phl_sink *sink, phl_error *error); /* once */

/* phl_forest_write into memory (free with phl_free); not for XML of more than one tree. */
PHL_API phl_status phl_forest_write_memory(const phl_forest *forest,
                                           const phl_write_options *options, char **text,
                                           size_t *size, phl_error *error);
PHL_API void phl_free(void *memory);

/* ---------------------------------------------------------------------------------------------
 * 8. Statistics
 * ------------------------------------------------------------------------------------------- */

/* Of one class.  Frozen. */
typedef struct phl_class_stats {
    const char *name; /* NULL: trees without class; borrowed from the forest */
    uint64_t trees;
    uint64_t nodes;
} phl_class_stats;

typedef struct phl_stats {
    uint64_t trees, nodes, leaves, links;
    uint64_t subtrees;          /* distinct */
    uint64_t internal_subtrees; /* distinct */
    uint64_t subtree_links;     /* links of distinct subtrees */
    uint64_t slot_child_pairs;  /* distinct (slot, child) */
    uint64_t labels;            /* in the alphabet */
    uint64_t unknown;           /* nodes with unknown label */
    double weight;              /* total */
    uint64_t nodes_min, nodes_max;
    double nodes_mean, nodes_median;
    uint64_t depth_min, depth_max; /* edges from root to deepest leaf */
    double depth_mean;
    uint32_t max_slot;     /* largest slot used */
    uint64_t *slot_filled; /* [max_slot] internal nodes with that slot filled */
    size_t n_classes;      /* trees without class are one more entry, last */
    phl_class_stats *classes;
    uint64_t ambiguous_shapes; /* distinct trees that occur in more than one class */
    uint64_t ambiguous_trees;  /* trees that are one of those */
} phl_stats;

PHL_API phl_status phl_stats_compute(const phl_forest *forest, phl_stats **stats, phl_error *error);
PHL_API void phl_stats_free(phl_stats *stats);

/* ---------------------------------------------------------------------------------------------
 * 9. Generators
 * ------------------------------------------------------------------------------------------- */

/* The paper's labelling trees: classes left, symmetric, right; label = number of children. */
typedef struct phl_symm_options {
    size_t size; /* set by init */
    uint64_t seed;
    size_t trees_per_class; /* 260 */
} phl_symm_options;
#define phl_symm_options_init(options) phl_symm_options_init_sized((options), sizeof *(options))
PHL_API void phl_symm_options_init_sized(phl_symm_options *options, size_t size);
PHL_API phl_status phl_generate_symm(const phl_symm_options *options, phl_forest **forest,
                                     phl_error *error);

/* Trees whose labels, 0 and 1, are a function of their children's labels: not, implies, if. */
typedef struct phl_logic_options {
    size_t size; /* set by init */
    uint64_t seed;
    size_t trees; /* 2,000 */
    size_t depth; /* links from the root to a leaf, at most: 4 */
} phl_logic_options;
#define phl_logic_options_init(options) phl_logic_options_init_sized((options), sizeof *(options))
PHL_API void phl_logic_options_init_sized(phl_logic_options *options, size_t size);
PHL_API phl_status phl_generate_logic(const phl_logic_options *options, phl_forest **forest,
                                      phl_error *error);

/* Families of XML-like documents: one vocabulary, a grammar a class with optional and repeated
 * sections. */
typedef struct phl_documents_options {
    size_t size; /* set by init */
    uint64_t seed;
    size_t classes;         /* 4 */
    size_t trees_per_class; /* 100 */
    size_t nodes;           /* mean nodes per document, about: 40 */
    size_t vocabulary;      /* element names: 60 */
    double noise;           /* chance that a node's label is replaced: 0.02 */
    double overlap;         /* share of grammar rules common to all classes: 0.5 */
} phl_documents_options;
#define phl_documents_options_init(options)                                                        \
    phl_documents_options_init_sized((options), sizeof *(options))
PHL_API void phl_documents_options_init_sized(phl_documents_options *options, size_t size);
PHL_API phl_status phl_generate_documents(const phl_documents_options *options, phl_forest **forest,
                                          phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 10. Models and training
 *
 * A run is what training gives: an alphabet, one model per class (or one for all trees), how it was
 * made, and traces.  A model is one or more draws: parameters that predictions average over in
 * probability space (EM gives one draw).
 * ------------------------------------------------------------------------------------------- */

typedef enum phl_kind {
    PHL_SP = 1,       /* switching parent */
    PHL_FULL,         /* table over all joint configurations of children */
    PHL_TF,           /* Tucker-factorised transition */
    PHL_TD,           /* top-down */
    PHL_GRAMMAR,      /* tree grammar with latent annotations: labels and shape in one model */
    PHL_NO_KIND = 100 /* no model of trees: a run that holds a classifier alone */
} phl_kind;

PHL_API const char *phl_kind_name(phl_kind kind);
PHL_API phl_kind phl_kind_find(const char *name); /* 0 if there is none such */

/* Why a training stopped. */
typedef enum phl_stop_reason {
    PHL_STOP_TOLERANCE = 1, /* EM: the gain fell below the tolerance */
    PHL_STOP_ITERATIONS,    /* all were done */
    PHL_STOP_INTERRUPTED,   /* or it is still running, or has not started */
    PHL_STOP_ELSEWHERE      /* a piece of a training: its own part is done, the rest is not here */
} phl_stop_reason;

PHL_API const char *phl_stop_reason_name(phl_stop_reason reason); /* "tolerance", ... */

typedef struct phl_run phl_run;
typedef struct phl_model phl_model;

/* Where a training is.  Callbacks of a training come one at a time, but from any of its threads.
 *
 * `rhat` is what phl_diagnose would say of the log-likelihood if the training ended here:
 * rank-normalised split R-hat over the iterations after the warm-up, of the chains of this class
 * that have at least half as many of them as the longest, cut to equal length.  NaN while it is
 * unknown: with EM, before two chains (or the only one asked for, whose halves are compared) have
 * got 4 such iterations, and when all values are equal.  It is computed about once a second, and
 * always for the last iteration of a chain. */
typedef struct phl_progress {
    const char *class_name; /* NULL: the run has no classes */
    size_t class_index, classes;
    size_t restart, restarts;     /* 0-based; chains for Gibbs */
    size_t iteration, iterations; /* iterations done, and the limit */
    double log_likelihood;        /* of the training data */
    uint32_t active;              /* active slots (tf) */
    double rhat;                  /* of the class so far; NaN: unknown */
    double seconds;               /* since training began */
} phl_progress;
typedef void (*phl_progress_fn)(const phl_progress *progress, void *context);

typedef enum phl_learner {
    PHL_LEARNER_AUTO = 0, /* Gibbs for tf, EM otherwise */
    PHL_LEARNER_EM,
    PHL_LEARNER_GIBBS
} phl_learner;

typedef enum phl_sampler {
    PHL_SAMPLER_BLOCKED = 0, /* exact */
    PHL_SAMPLER_PAPER /* the paper's own, for comparison: does not leave the posterior invariant */
} phl_sampler;

/* A classifier beside the models of the classes. */
typedef enum phl_head_kind {
    PHL_HEAD_NONE = 0,
    PHL_HEAD_LINEAR /* as phl_train_classifier trains it */
} phl_head_kind;

#define PHL_DEFAULT SIZE_MAX /* a number that is worked out from the others */

/* What a training can be asked for at most; more is refused with PHL_ERR_ARGUMENT, and so is a run
 * file that asks for more. */
#define PHL_MOST_STATES 100000
#define PHL_MOST_ITERATIONS 1000000000
#define PHL_MOST_RESTARTS 1000000
#define PHL_MOST_CHAINS 100000
#define PHL_MOST_KEPT 1000000
#define PHL_MOST_ACTIVE 64 /* slots */

typedef struct phl_train_options {
    size_t size;   /* set by init */
    phl_kind kind; /* PHL_GRAMMAR */
    phl_learner learner;
    uint32_t states;          /* C: 20 (tf), 10; the grammar: annotations of a label at most, 16 */
    bool per_class;           /* one model per class; every tree must have a class */
    uint64_t seed;            /* 42 */
    int threads;              /* 0: all cores */
    size_t iterations;        /* PHL_DEFAULT: EM 100, Gibbs 200 with the warm-up, grammar 15 */
    const char *partition;    /* tf: JSON text [{"slot":1,"blocks":[...]}], as in show --json */
    uint64_t memory_limit;    /* bytes of the tables of all draws, chains and classes together; a
                                 grammar leaves out splits beyond its starts' shares.  0: half of
                                 the machine's memory, and a slot number far beyond the number of
                                 slots that occur is refused */
    const char *command_line; /* stored in the run; may be NULL */

    /* EM */
    size_t restarts;  /* 1; the best objective is kept; grammar 4, all are kept */
    double tolerance; /* 1e-6: stop when the objective gains relatively less; 0: never */
    double smoothing; /* 0.01: s of the Dir(1 + s) prior on every table */

    /* Gibbs */
    phl_sampler sampler;
    bool soft;                     /* second stage with soft clustering */
    size_t warmup;                 /* PHL_DEFAULT: half of the iterations */
    size_t chains;                 /* 4 */
    size_t keep;                   /* 10 draws per chain, spread over what follows the warm-up */
    double anneal_start;           /* T0: 1, no annealing */
    size_t anneal_end;             /* m0, at most the warm-up; PHL_DEFAULT: the warm-up */
    uint32_t slots_min, slots_max; /* active slots: 0; (uint32_t)PHL_DEFAULT: 5 */
    double slot_support; /* 0.01: a slot may be active if filled in that share of internal nodes */
    uint64_t core_max;   /* cells of the core: 2^20 */
    const uint32_t *sizes; /* fixed k of slots 1, 2, ..., the rest 1; NULL: learned */
    size_t n_sizes;
    double phi, alpha, alpha0, beta, gamma, delta; /* priors: 2, 1, 1, 0.05, 1, 1 */
    bool update_concentration;                     /* learn alpha and alpha0 too */

    phl_progress_fn progress;
    phl_report_fn report; /* notes */
    phl_cancel_fn cancel;
    void *context;

    /* Classification, for per_class */
    phl_head_kind head;   /* PHL_HEAD_NONE */
    const uint32_t *fold; /* [trees] 0-based, of the cross-validation of the head; NULL:
                             phl_folds_make with 5 */
    size_t n_folds;       /* of `fold` */
    bool calibrate;       /* false: hold trees out to make class probabilities believable.  Always
                             done for the grammar, which holds trees out anyway, and with a head;
                             other models are trained once more without those trees */

    /* A piece of the training; phl_merge puts the pieces together.  By its number, or by classes
     * and chains; all zero: everything. */
    size_t piece, pieces;             /* number from 1, and how many there are */
    const char *const *piece_classes; /* [n_piece_classes] not for grammars */
    size_t n_piece_classes;
    size_t piece_first_chain, piece_last_chain; /* chains or restarts, from 1 */

    size_t recycle; /* Gibbs: tries of a chain to recycle states, in the warm-up: 200 */

    /* The number of states chosen by the likelihood of trees held out: models with 5, 10, 20, ...
     * states, at last states_max, are trained on nine tenths of the trees, and the best number is
     * taken for all classes.  Not for grammars, nor with partition, sizes or pieces. */
    bool states_auto;
    uint32_t states_max; /* 40 */
    const char *members; /* NULL; further members that the run is to get, stored in it for whoever
                            goes on with it: "td,expert" */
} phl_train_options;

#define phl_train_options_init(options) phl_train_options_init_sized((options), sizeof *(options))
PHL_API void phl_train_options_init_sized(phl_train_options *options, size_t size);

/* Fit a model to a forest (not empty), or one per class.  Cancelled: what was reached is returned
 * with stop reason "interrupted" and status PHL_OK, unless nothing was reached yet. */
PHL_API phl_status phl_train(const phl_forest *forest, const phl_train_options *options,
                             phl_run **run, phl_error *error);

PHL_API void phl_run_free(phl_run *run);

/* ---- Training into a file ---- */

typedef struct phl_file_options {
    size_t size;               /* set by init */
    bool replace;              /* an existing file, once the first iteration is done */
    bool no_embed;             /* leave the trees out: phl_resume then needs them */
    double checkpoint_seconds; /* 30: at most so often; 0: after every iteration */
} phl_file_options;

#define phl_file_options_init(options) phl_file_options_init_sized((options), sizeof *(options))
PHL_API void phl_file_options_init_sized(phl_file_options *options, size_t size);

/* phl_train with a run file that always holds the state so far.  The file is made after the first
 * iteration and updated, one transaction each, every checkpoint_seconds for each class and chain
 * and when one ends.  If the program is killed at any moment, phl_resume goes on from the file and
 * ends with the same model.  Others may read the run during training; another training on it is
 * refused.  Cancelled: after a last checkpoint, status PHL_OK and a run whose stop reason is
 * "interrupted"; classes that had not started have no draws.  When writing fails, what was written
 * before stays good; PHL_ERR_WRITE also when another training was first, when the file goes away in
 * the meantime, and when everything is written but somebody who reads an earlier state keeps a part
 * of it in the log beside the file (phl_resume then puts it into the file).  A NULL `file` means
 * the defaults. */
PHL_API phl_status phl_train_file(const phl_forest *forest, const phl_train_options *options,
                                  const phl_file_options *file, const char *path, phl_run **run,
                                  phl_error *error);

typedef struct phl_resume_options {
    size_t size;               /* set by init */
    int threads;               /* 0: all cores; the result does not depend on it */
    size_t iterations;         /* 0: as configured; more: extend the run, finished or not */
    const phl_forest *forest;  /* the trees it was trained on; NULL: those in the file */
    double checkpoint_seconds; /* 30 */
    phl_progress_fn progress;
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
    uint64_t memory_limit; /* as in phl_train_options: 0 */
} phl_resume_options;

#define phl_resume_options_init(options) phl_resume_options_init_sized((options), sizeof *(options))
PHL_API void phl_resume_options_init_sized(phl_resume_options *options, size_t size);

/* Go on with a training that was interrupted, for every class and chain from its last checkpoint
 * and with the same random streams: the result is, to the bit, that of a training that was not
 * interrupted.  A finished run is returned as it is, unless it is to be extended: EM fits that
 * ended at the limit go on; chains go on with the configured warm-up and annealing after them,
 * draws kept so far stay, and as many again are spread over the iterations that are new (with soft
 * clustering, of the soft stage).  PHL_ERR_CHANGED when the trees are others; PHL_ERR_WRITE when
 * another training is at work on the file; PHL_ERR_FORMAT when another version wrote the
 * checkpoint. */
PHL_API phl_status phl_resume(const char *path, const phl_resume_options *options, phl_run **run,
                              phl_error *error);

typedef struct phl_merge_options {
    size_t size;              /* set by init */
    bool replace;             /* an existing file */
    bool partial;             /* pieces may be missing or unfinished; phl_resume trains the rest */
    bool no_finish;           /* leave what needs all pieces to phl_resume */
    const phl_forest *forest; /* the trees trained on; NULL: those in the pieces */
    int threads;              /* 0: all cores */
    phl_progress_fn progress;
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
    uint64_t memory_limit; /* as in phl_train_options: 0 */
} phl_merge_options;

#define phl_merge_options_init(options) phl_merge_options_init_sized((options), sizeof *(options))
PHL_API void phl_merge_options_init_sized(phl_merge_options *options, size_t size);

/* Into how many pieces a training can be cut: classes times chains (or restarts); of a grammar,
 * whose starts learn all classes together, restarts.  With as many pieces, piece 1 is the one that
 * costs most, and so on. */
PHL_API phl_status phl_train_tasks(const phl_forest *forest, const phl_train_options *options,
                                   size_t *n, phl_error *error);

/* Put pieces of a training together, in any order, into a new run file: the run is, to the bit,
 * that of one training of all tasks, but for the fact "command" and the seconds of traces.  Refused
 * with a message that names the file, before anything is written: what is no piece, or a piece of
 * another training (PHL_ERR_CHANGED); a task twice; without `partial` one that is missing or not
 * finished (PHL_ERR_ARGUMENT). */
PHL_API phl_status phl_merge(const char *const *paths, size_t n_paths,
                             const phl_merge_options *options, const char *path, phl_run **run,
                             phl_error *error);

/* Write to a new file (an existing one only with `replace`), complete or not at all.  PHL_ERR_WRITE
 * when a training is at work on the existing one, or another program has it open with its log. */
PHL_API phl_status phl_run_save(const phl_run *run, const char *path, bool replace,
                                phl_error *error);
/* Do the first bytes of the file say that it is a run, whole or not?  False for what cannot be
 * read. Not for a file that this process is training into: closing it again would drop SQLite's
 * locks. */
PHL_API bool phl_run_recognise(const char *path);
/* Refuses what is not a run, is newer than this library, or is damaged, and says which. */
PHL_API phl_status phl_run_open(const char *path, phl_run **run, phl_error *error);
/* The trees that the run in a file was trained on; *forest is NULL when the file does not hold
 * them. */
PHL_API phl_status phl_run_open_trees(const char *path, phl_forest **forest, phl_error *error);

/* ---- What a run is ---- */

PHL_API phl_kind phl_run_kind(const phl_run *run);
PHL_API uint32_t phl_run_states(const phl_run *run);
PHL_API uint32_t phl_run_slots(const phl_run *run);
PHL_API size_t phl_run_labels(const phl_run *run);
PHL_API const char *phl_run_label_name(const phl_run *run, int32_t label); /* NULL: none such */
PHL_API bool phl_run_per_class(const phl_run *run);
PHL_API size_t phl_run_classes(const phl_run *run); /* 1 if not per class */
PHL_API const char *phl_run_class_name(const phl_run *run,
                                       size_t index); /* NULL if not per class */
PHL_API const phl_model *phl_run_model(const phl_run *run, size_t index); /* borrowed */
PHL_API size_t phl_run_find_class(const phl_run *run, const char *name);  /* SIZE_MAX: none such */
/* The options the run was trained with, every default worked out; what it points to is the run's.
 * Those that do not shape the result (threads, callbacks, the memory limit, options of the other
 * learner) have their defaults.  NULL when the run does not say, or not in terms known here. */
PHL_API const phl_train_options *phl_run_options(const phl_run *run);
/* A fact about how the run was made ("command", "version", "seed", "fingerprint", "config", ...);
 * NULL if there is none such.  Keys: docs/run-file.md. */
PHL_API const char *phl_run_meta(const phl_run *run, const char *key);

/* ---- Draws and their tensors ---- */

/* Parameters to predict with, and where they come from. */
typedef struct phl_draw {
    struct phl_params *params; /* the library's; read through its tensors */
    size_t chain;              /* chain or restart */
    uint64_t iteration;        /* of the chain */
    double log_likelihood;     /* of the training trees */
    double log_joint;          /* Gibbs: log p(x, Q, c | lambda0); EM: the objective */
    double weight; /* share in averages over the draws of the class, which add up to 1: chains that
                      predict better count more; 0 in all of them: they count the same */
} phl_draw;

PHL_API size_t phl_model_draws(const phl_model *model);
PHL_API const phl_draw *phl_model_draw(const phl_model *model, size_t draw); /* NULL: none such */
/* The draw that speaks for the model where one must: the highest log p(x, Q, c | lambda0), or the
 * best objective; 0 when there is none. */
PHL_API size_t phl_model_best_draw(const phl_model *model);
/* Blocks k of a slot in one draw of tf or full: 1 = the slot does not matter.  0 for other models.
 */
PHL_API uint32_t phl_model_slot_size(const phl_model *model, size_t draw, uint32_t slot);
/* The posterior of k: draws [C + 2] (may be NULL) gets for every k the number of draws in which the
 * slot has k blocks.  Returns the share of draws in which it matters, k > 1; NaN without draws. */
PHL_API double phl_model_slot_posterior(const phl_model *model, uint32_t slot, size_t *draws);

typedef enum phl_dtype {
    PHL_UINT8 = 1,
    PHL_INT32,
    PHL_UINT32,
    PHL_UINT64,
    PHL_FLOAT64,
    PHL_FLOAT32 /* in run files alone */
} phl_dtype;

#define PHL_TENSOR_AXES 65 /* at most */

/* One tensor of a draw; docs/run-file.md has the names and shapes.  The numbers are the run's own,
 * not a copy: element (i, j, ...) is number i * strides[0] + j * strides[1] + ... of data. */
typedef struct phl_tensor {
    const char *name; /* "prior", "emission", "core", ... */
    uint32_t slot;    /* of "partition" and "mode"; 0 for others */
    phl_dtype dtype;  /* PHL_INT32 for "partition", PHL_FLOAT64 for others */
    const void *data;
    size_t n_axes;
    size_t shape[PHL_TENSOR_AXES], strides[PHL_TENSOR_AXES]; /* [n_axes] */
} phl_tensor;

/* Tensors are numbered from 0; false, and *tensor untouched, after the last one. */
PHL_API bool phl_tensor_get(const phl_draw *draw, size_t i, phl_tensor *tensor);
/* By its name and slot; false, and *tensor untouched, when the draw has none such. */
PHL_API bool phl_tensor_find(const phl_draw *draw, const char *name, uint32_t slot,
                             phl_tensor *tensor);

/* ---- Traces ---- */

enum { PHL_MOVE_TYPES = 4 };

/* One iteration of a chain (or restart). */
typedef struct phl_trace_row {
    size_t class_index, chain;
    uint64_t iteration; /* iterations done before these figures; EM: 0 is the random start */
    double temperature; /* 1: none */
    double log_likelihood, log_joint; /* as in phl_draw */
    double seconds;                   /* since training began */
    uint32_t active;   /* active slots; grammar: splits so far; 0 where it means nothing */
    uint32_t sum_size; /* sum of k over the eligible slots; grammar: annotations; else 0 */
    /* Moves tried and changes made in this iteration: reassign, split, merge, carry (blocked
     * sampler); states, sizes (the paper's). */
    uint32_t tried[PHL_MOVE_TYPES], changed[PHL_MOVE_TYPES];
} phl_trace_row;

/* Chains (or restarts) of a model are numbered below this; those not begun have no rows. */
PHL_API size_t phl_trace_chains(const phl_model *model);
/* Row i of a chain, ascending by iteration; NULL after the last one.  Rows of a chain lie after
 * each other in memory, at equal distances. */
PHL_API const phl_trace_row *phl_trace_get(const phl_model *model, size_t chain, size_t i);

/* ---- A training in short ---- */

PHL_API uint64_t phl_model_trees(const phl_model *model); /* trained on */
/* Of its training trees, under the best draw; 0 without draws. */
PHL_API double phl_model_log_likelihood(const phl_model *model);
PHL_API phl_stop_reason phl_model_stop_reason(const phl_model *model);
/* Of every chain, or of the best restart. */
PHL_API size_t phl_model_iterations(const phl_model *model);

/* Everything as JSON (docs/run-file.md, show --json); to be released with phl_free. */
PHL_API phl_status phl_run_json(const phl_run *run, char **text, size_t *size, phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 11. Using a run
 *
 * Contents: what all tasks share, scoring, decoding, measures, classification, labelling, sampling.
 *
 * A task takes a run and a source of trees (section 6) and hands out what it finds tree by tree, in
 * the order of the source, so that memory does not grow with the number of trees:
 *
 *     phl_score     how probable trees and their labels are
 *     phl_decode    the hidden states of nodes
 *     phl_classify  the classes of trees, and how often that is right
 *     phl_label     labels that are not known, and how often that is right
 *     phl_sample    labels drawn for given shapes, or whole trees
 *
 * The model for a tree is the run's only one or, in a run trained per class, that of the tree's
 * class; `class_name` in the options names one for all trees.  A tree of a class that the run does
 * not know (PHL_ERR_CLASS), or without one (PHL_ERR_ARGUMENT), ends the task once the trees before
 * it were handed out.  So does an error in the source.
 *
 * Trees may have other labels and larger slots than the run was trained on.  Results are the same
 * for any number of threads and whatever the blocks.  Random numbers depend on the seed and on a
 * tree's number among the trees of its model.
 *
 * Every task has options, with an _init call that fills in the defaults (NULL: the defaults), a
 * callback and, in the options, the context of all callbacks.  Callbacks are called from the
 * calling thread only; what they are given is borrowed for the duration of the call.  A callback
 * that returns another status than PHL_OK ends the task, which returns it.  `report` gets notes on
 * all trees together at the end: labels never seen in training, trees of probability 0.
 *
 * A model without a draw (training was interrupted at once) is PHL_ERR_ARGUMENT.
 * ------------------------------------------------------------------------------------------- */

/* The tree that a result is about. */
typedef struct phl_tree_at {
    const phl_forest *block;
    size_t tree;        /* its number in the block, */
    size_t number;      /* and in the source, from 0 */
    size_t class_index; /* of the model used; 0 if the run has one for all trees */
    phl_walk *walk;     /* over the block, for the callback to start */
} phl_tree_at;

/* ---- Scoring ---- */

typedef struct phl_score_options {
    size_t size;            /* set by init */
    bool structure;         /* the shape counts too: false */
    bool every_class;       /* under every model of the run, one after the other, not one: false */
    bool bits;              /* node by node: false */
    bool predictive;        /* node by node: false */
    const char *class_name; /* NULL: the class of each tree */
    int threads;            /* 0: all cores */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
    /* Runs that bits and oddity are pooled with (maths.md): none.  Percentiles are not
     * known then. */
    const phl_run *const *with;
    size_t n_with;
} phl_score_options;

#define phl_score_options_init(options) phl_score_options_init_sized((options), sizeof *(options))
PHL_API void phl_score_options_init_sized(phl_score_options *options, size_t size);

/* A tree under one model; likelihoods are averaged over draws in probability space.  Arrays are
 * node by node in pre-order. */
typedef struct phl_tree_score {
    double log_likelihood; /* with the shape term if asked for; -inf when impossible */
    double bits_per_label; /* -log2 p(labels) / labels, without the shape term; +inf when
                              impossible, NaN when no label is known */
    uint64_t nodes;
    uint64_t labels; /* known labels */

    const double *bits;       /* [nodes] -log2 p(x_u | all other labels); +inf in a tree of
                                 probability 0, NaN where the label is unknown; NULL: not asked for */
    const double *predictive; /* [nodes][M + 1] p(x_u = d | all other labels), the unseen symbol
                                 last; NULL: not asked for, or a tree of probability 0 */

    /* By the pool of a run with an expert, which `bits` are then of, too; NaN without one, and
     * where no label is known. */
    double oddity;               /* the fourth root of the mean of the bits' fourth powers */
    double mean_bits, most_bits; /* over the known labels */
    double odd_share; /* the share of training trees, each judged by an expert and a model made
                         without it, that are at least as odd: (1 + so many) / (1 + all) */
} phl_tree_score;

typedef phl_status (*phl_score_fn)(const phl_tree_at *at, const phl_tree_score *score,
                                   void *context, phl_error *error);

PHL_API phl_status phl_score(const phl_run *run, phl_source *source,
                             const phl_score_options *options, phl_score_fn each, phl_error *error);

/* ---- Decoding ---- */

typedef struct phl_decode_options {
    size_t size;            /* set by init */
    size_t draw;            /* of the model; PHL_DEFAULT: the best one */
    bool marginals;         /* true */
    bool pairs;             /* false */
    bool joint;             /* false */
    const char *class_name; /* NULL: the class of each tree */
    int threads;            /* 0: all cores */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
} phl_decode_options;

#define phl_decode_options_init(options) phl_decode_options_init_sized((options), sizeof *(options))
PHL_API void phl_decode_options_init_sized(phl_decode_options *options, size_t size);

/* The states of a tree under one draw, node by node in pre-order.  What was not asked for is NULL;
 * everything is for a tree of probability 0. */
typedef struct phl_decoded_tree {
    bool possible;           /* the tree has a probability above 0 */
    size_t draw;             /* that was used */
    const double *marginals; /* [n][C] p(Q_u | all labels), */
    const uint32_t *best;    /* [n] and the most probable state of each (the first of equals) */
    const double *pairs;     /* [n][C][C] p(Q_parent = i, Q_u = q); zeros at the root */
    const uint32_t *joint;   /* [n] the states that are most probable together, */
    double log_joint;        /* and their log-probability with the labels */
} phl_decoded_tree;

typedef phl_status (*phl_decode_fn)(const phl_tree_at *at, const phl_decoded_tree *decoded,
                                    void *context, phl_error *error);

PHL_API phl_status phl_decode(const phl_run *run, phl_source *source,
                              const phl_decode_options *options, phl_decode_fn each,
                              phl_error *error);

/* ---- Measures ---- */

/* One label or class of an evaluation. */
typedef struct phl_name_measure {
    uint64_t n;          /* items that are of this name: its row of the confusion matrix */
    uint64_t predicted;  /* items predicted to be of this name: its column */
    double accuracy;     /* of the n; NaN when n is 0 */
    double entropy_bits; /* H2(true | predicted = this); 0 when it was never predicted */
} phl_name_measure;

/* One prediction per item, compared with the truth. */
typedef struct phl_confusion {
    double accuracy; /* fraction */
    double
        entropy_bits; /* the paper's: sum over predicted p of (n_p / n) H2(true | predicted = p) */
    uint64_t *counts; /* [n_names][n_names], true by rows, predicted by columns */
    phl_name_measure *measures; /* [n_names] */
} phl_confusion;

/* Predictions compared with the truth.  Items whose truth is not known do not enter.  When n is 0
 * every figure is NaN and the matrices are all 0.  Several models: each figure is the mean of
 * theirs, weighted by items. */
typedef struct phl_evaluation {
    uint64_t n;
    uint64_t unseen; /* items whose truth is outside what can be predicted: always wrong */
    size_t n_names;  /* what can be predicted, and if unseen > 0 one more, last, whose columns are
                        0 */
    char **names;    /* [n_names]; NULL for what is unseen */
    phl_confusion *best;                /* of the most probable names */
    phl_confusion *drawn;               /* of names drawn at random; NULL: none were */
    double predictive_entropy_bits;     /* mean entropy of the predictive distributions */
    double log_loss;                    /* nats: mean -log p(truth), an unseen label costing
                                           -log p(unseen); +inf when some truth had probability 0.
                                           Classification has no p(unseen): there trees of unseen
                                           classes are left out of the mean, NaN when nothing remains */
    double accuracy_low, accuracy_high; /* 95 % interval of the accuracy (Wilson) */
    double largest_share;               /* of the items that are of the most frequent name */
    double balanced_accuracy;           /* mean over the names that occur */
    double calibration_error; /* expected: mean over items of |share right - mean probability| of
                                 the predicted names, in 15 bins of that probability; NaN: no
                                 probabilities are known */
} phl_evaluation;

PHL_API void phl_evaluation_free(phl_evaluation *evaluation);

/* From a confusion matrix [n][n]: the mean of H2(true | predicted), in bits, over all predictions
 * or those of one name (SIZE_MAX: all); NaN without any. */
PHL_API double phl_confusion_entropy(const uint64_t *counts, size_t n, size_t name);

/* Mean and sample standard deviation (divisor n - 1).  sd is 0 for n = 1; both are NaN for n = 0.
 */
PHL_API void phl_mean_sd(const double *values, size_t n, double *mean, double *sd);

/* ---- Classification ---- */

typedef enum phl_class_prior {
    PHL_PRIOR_UNIFORM = 0,
    PHL_PRIOR_EMPIRICAL, /* proportional to the weight of each class's training trees */
    PHL_PRIOR_LEARNED,   /* what training found best on trees held out, if it looked for it */
    PHL_PRIOR_CHOSEN     /* what training chose of these by trees held out; uniform if it did not */
} phl_class_prior;

/* What the posterior is made of. */
typedef enum phl_rule {
    PHL_RULE_DEFAULT = 0, /* what training chose by trees held out, where there are models and a
                             head; else the head if the run has one, else the models */
    PHL_RULE_GENERATIVE,  /* the model of each class, and the class prior */
    PHL_RULE_HEAD,        /* the linear head, which has learned how frequent classes are */
    PHL_RULE_BOTH         /* a weighted mean of the logarithms of both, normalised */
} phl_rule;

typedef struct phl_classify_options {
    size_t size;           /* set by init */
    bool structure;        /* true: the shape term counts too */
    phl_class_prior prior; /* of the models: PHL_PRIOR_CHOSEN */
    int threads;           /* 0: all cores */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
    phl_rule rule;  /* PHL_RULE_DEFAULT */
    size_t explain; /* 0: so many reasons for every tree; needs a rule with the head */
} phl_classify_options;

#define phl_classify_options_init(options)                                                         \
    phl_classify_options_init_sized((options), sizeof *(options))
PHL_API void phl_classify_options_init_sized(phl_classify_options *options, size_t size);

/* A feature that spoke for a class and against another. */
#define PHL_REASON_NODES 8
typedef struct phl_reason {
    size_t feature;                 /* of phl_head_features */
    double log_odds;                /* what it adds; below 0: it spoke for the other */
    uint64_t count;                 /* how often the tree has it, */
    size_t n_nodes;                 /* and on which nodes, at most so many: numbers in */
    size_t nodes[PHL_REASON_NODES]; /* pre-order from 0; of neighbours, that of their parent */
} phl_reason;

/* Why `best` and not the runner-up: log_odds = models + constant + rest + that of all reasons. */
typedef struct phl_explanation {
    size_t against;  /* the class of the second highest posterior */
    double log_odds; /* log p(best) - log p(against) */
    double models;   /* what the models of the classes add; 0 by the head alone */
    double constant; /* of the head: classes that are frequent */
    double rest;     /* features that are not among the reasons */
    size_t n_reasons;
    const phl_reason *reasons; /* [n_reasons] heaviest first */
} phl_explanation;

/* The classes of a tree; K = phl_run_classes(run). */
typedef struct phl_classified_tree {
    size_t best;                  /* the class of the highest posterior (the first of equals) */
    const double *log_posterior;  /* [K] log p(class | tree) */
    const double *log_likelihood; /* [K] log p(tree | class), averaged over draws in probability
                                     space; NULL by the head alone */
    bool possible; /* false: probability 0 under every class; the posterior is the class prior */
    const phl_explanation *explanation; /* NULL: not asked for */
} phl_classified_tree;

typedef phl_status (*phl_classify_fn)(const phl_tree_at *at, const phl_classified_tree *classified,
                                      void *context, phl_error *error);

/* Classify trees, and compare the result with the classes they have.  class_index in what `each` is
 * given is `best`.  `each` and `evaluation` (over the trees that have a class) may be NULL.
 * PHL_ERR_ARGUMENT when the run was not trained per class, or does not hold what the rule needs. */
PHL_API phl_status phl_classify(const phl_run *run, phl_source *source,
                                const phl_classify_options *options, phl_classify_fn each,
                                phl_evaluation **evaluation, phl_error *error);

/* ---- Labelling ---- */

/* Given a block of trees that a task has made, in the order of the source. */
typedef phl_status (*phl_forest_fn)(const phl_forest *block, void *context, phl_error *error);

typedef struct phl_label_options {
    size_t size;   /* set by init */
    double hide;   /* 0: fill unknown labels only; above: also hide each known label with this
                      probability and evaluate; 1: hide all */
    bool no_draw;  /* leave drawn labels out (they cost about as much as the predictions) */
    uint64_t seed; /* 42: for hiding and for drawn labels */
    phl_forest_fn filled;   /* the trees with every unknown label, after hiding, filled in: by the
                               most probable one or, with fill_drawn, the drawn one.  Classes,
                               weights, ids and sources are kept.  NULL: not wanted */
    bool fill_drawn;        /* false */
    const char *class_name; /* NULL: the class of each tree */
    int threads;            /* 0: all cores */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;
    const phl_run *const *with; /* runs that predictions are pooled with (maths.md): none */
    size_t n_with;
} phl_label_options;

#define phl_label_options_init(options) phl_label_options_init_sized((options), sizeof *(options))
PHL_API void phl_label_options_init_sized(phl_label_options *options, size_t size);

/* One tree with its labels filled in; arrays are node by node in pre-order.  Labels are numbered as
 * the run numbers them, truth as the block does.  Nodes that are not filled in repeat their known
 * label (-1 if the run does not know it). */
typedef struct phl_labelled_tree {
    size_t n;                  /* nodes */
    size_t n_filled;           /* nodes whose label was predicted: unknown or hidden */
    const int32_t *truth;      /* [n] label in the block, or PHL_UNKNOWN */
    const bool *hidden;        /* [n] known, but hidden */
    const bool *filled;        /* [n] hidden or unknown */
    const int32_t *best;       /* [n] most probable label (the first of equals) */
    const int32_t *drawn;      /* [n] labels drawn jointly; NULL with no_draw */
    const double *probability; /* [n_filled][M] one row a filled node, in order: predictives
                                  averaged over draws, renormalised over the M labels */
    const double *unseen; /* [n_filled] probability of the unseen symbol, before renormalising */
    bool possible; /* false: what is known has probability 0; the predictions rest on the shape
                      alone */
} phl_labelled_tree;

typedef phl_status (*phl_label_fn)(const phl_tree_at *at, const phl_labelled_tree *labelled,
                                   void *context, phl_error *error);

/* Fill in labels.  Predictives: sum_d p_d(x_u, x_known) / sum_d p_d(x_known).  Drawn: a draw of the
 * model given the known labels, its hidden states, then labels.  `each` and `evaluation` (over the
 * hidden labels; n and n_names are 0 when hide is 0) may be NULL.  With one, M may be 20,000 at
 * most (PHL_ERR_LIMIT): confusion matrices are square.  When M is 0 every filled label is -1. */
PHL_API phl_status phl_label(const phl_run *run, phl_source *source,
                             const phl_label_options *options, phl_label_fn each,
                             phl_evaluation **evaluation, phl_error *error);

/* ---- Sampling ---- */

typedef struct phl_sample_options {
    size_t size;            /* set by init */
    uint64_t seed;          /* 42 */
    size_t trees;           /* whole trees to make, of each class or that named: 10 */
    size_t max_nodes;       /* a whole tree that grows beyond is thrown away: 10,000 */
    size_t max_attempts;    /* PHL_ERR_LIMIT when a tree was thrown away so often: 1,000 */
    const char *class_name; /* NULL: every class; for shapes, the class of each */
    int threads;            /* 0: all cores */
    phl_report_fn report;   /* a note when trees were thrown away */
    phl_cancel_fn cancel;
    void *context;
} phl_sample_options;

#define phl_sample_options_init(options) phl_sample_options_init_sized((options), sizeof *(options))
PHL_API void phl_sample_options_init_sized(phl_sample_options *options, size_t size);

/* Trees drawn from the models of a run, in blocks.
 * With shapes: each of them with labels drawn anew (those it has are not looked at) from one draw
 * of its model, picked at random.  Classes, weights, ids and sources are kept. Without (NULL):
 * whole trees, class by class, with shapes from the shape model.  They are of their model's class,
 * if it has one.  Tree i of a class does not depend on how many are made. */
PHL_API phl_status phl_sample(const phl_run *run, phl_source *shapes,
                              const phl_sample_options *options, phl_forest_fn each,
                              phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 12. Features and linear classifiers
 *
 * Pieces of trees as numbers, for linear models here and elsewhere.  The groups, for every node:
 *
 *     S   the complete subtree below it: labels and slots, whatever slot it sits in itself
 *     B   each two neighbours among its children, and the label above them
 *     BG  the same with the label above that one
 *     L   its label
 *     P1  its label and the one above it
 *
 * In B and BG the first and the last child have a border beside them; one or more empty slots
 * before or between children are one gap, which stands like a child.  In BG and P1 there is a
 * border above the root.  A node without children has none of B and BG.  An unknown label is a
 * symbol of its own, equal to other unknown labels.
 *
 * A dictionary is made of some trees and knows the features that occur in them, compared in full,
 * and no others.  A tree may have features that the dictionary does not know, all of them if its
 * labels are new: they have no number, but they count in the values.  The value of a feature is the
 * root of its share of the occurrences of its group in the tree, known or not, divided by the root
 * of the number of groups that the tree has: the squares of the values of all features of a tree
 * add up to 1.  The weight of a tree plays no role.
 * ------------------------------------------------------------------------------------------- */

enum {
    PHL_FEATURE_S = 1,
    PHL_FEATURE_B = 2,
    PHL_FEATURE_BG = 4,
    PHL_FEATURE_L = 8,
    PHL_FEATURE_P1 = 16,
    PHL_FEATURES_ALL = 31
};

/* "S", "B", "BG", "L" or "P1"; NULL: no such group. */
PHL_API const char *phl_features_group_name(unsigned group);

typedef struct phl_features phl_features;

typedef struct phl_features_options {
    size_t size;        /* set by init */
    unsigned groups;    /* a sum of PHL_FEATURE_...: PHL_FEATURES_ALL */
    size_t least_trees; /* 1: leave out what is in fewer distinct trees */
    int threads;        /* 0: all cores */
    phl_cancel_fn cancel;
    void *context;
} phl_features_options;

#define phl_features_options_init(options)                                                         \
    phl_features_options_init_sized((options), sizeof *(options))
PHL_API void phl_features_options_init_sized(phl_features_options *options, size_t size);

/* The dictionary of the features of a forest. */
PHL_API phl_status phl_features_create(const phl_forest *forest,
                                       const phl_features_options *options, phl_features **features,
                                       phl_error *error);
PHL_API void phl_features_free(phl_features *features);

/* Features are numbered from 0, group by group. */
PHL_API size_t phl_features_count(const phl_features *features);
PHL_API unsigned phl_features_group(const phl_features *features,
                                    size_t feature); /* 0: none such */
/* A feature as a tree in brackets, to be released with phl_free: borders are ^ above the root, <
 * before and > behind children, a gap is _, an unknown label ?; labels that look like one of these
 * are quoted.  Complete subtrees are cut after 1,000 nodes: "...". */
PHL_API phl_status phl_features_text(const phl_features *features, size_t feature, char **text,
                                     phl_error *error);

/* The features of a tree that the dictionary knows. */
typedef struct phl_tree_features {
    size_t n;
    const uint32_t *feature; /* [n] ascending */
    const uint64_t *count;   /* [n] occurrences in the tree */
    const double *value;     /* [n] */
    uint64_t occurrences;    /* of all features of its groups, known or not */
} phl_tree_features;

typedef phl_status (*phl_features_fn)(const phl_tree_at *at, const phl_tree_features *features,
                                      void *context, phl_error *error);

/* The features of trees, in the order of the source; class_index in what `each` is given is 0.  Of
 * the options only threads, cancel and context are looked at. */
PHL_API phl_status phl_features_extract(const phl_features *features, phl_source *source,
                                        const phl_features_options *options, phl_features_fn each,
                                        phl_error *error);

/* ---- A linear classifier ---- */

typedef struct phl_classifier_options {
    size_t size;           /* set by init */
    const uint32_t *fold;  /* [trees] 0-based test fold of every tree; NULL: phl_folds_make */
    size_t n_folds;        /* 5 */
    unsigned groups;       /* of features, a sum of PHL_FEATURE_...; 0: chosen from S + B + BG and
                              all, by cross-validation */
    double c;              /* weight of the training trees against that of the penalty; 0: chosen
                              from 1, 3, 10, 30, 100 and 300 */
    uint64_t seed;         /* 42: for folds, and the order of trees */
    uint64_t memory_limit; /* bytes; 0: half of the machine's memory */
    int threads;           /* 0: all cores; the result does not depend on it */
    const char *command_line; /* stored in the run; may be NULL */
    phl_cancel_fn cancel;
    void *context;
} phl_classifier_options;

#define phl_classifier_options_init(options)                                                       \
    phl_classifier_options_init_sized((options), sizeof *(options))
PHL_API void phl_classifier_options_init_sized(phl_classifier_options *options, size_t size);

/* A run with a linear head and no models: multinomial logistic regression on the features of trees,
 * for those who only classify (docs/maths.md).  Every tree must have a class, and there must be two
 * classes or more.  What is chosen, it is by the log-loss of trees left out; a temperature, too.
 * Cancelled: PHL_ERR_CANCELLED, and no run. */
PHL_API phl_status phl_train_classifier(const phl_forest *forest,
                                        const phl_classifier_options *options, phl_run **run,
                                        phl_error *error);

/* The linear head of a run; NULL: it has none. */
typedef struct phl_head phl_head;
PHL_API const phl_head *phl_run_head(const phl_run *run);

/* A setting that cross-validation tried. */
typedef struct phl_head_choice {
    unsigned groups; /* of features */
    double c;
    double log_loss, log_loss_se; /* nats per tree left out, and its standard error over folds */
    double accuracy;              /* fraction of the trees left out */
    double temperature;           /* that makes the log-loss lowest, */
    double tempered_log_loss;     /* and that log-loss */
    double calibration_error; /* with it: how far probabilities are from shares of right answers */
} phl_head_choice;

typedef struct phl_head_summary {
    unsigned groups;                /* of features, */
    size_t n_features;              /* how many there are */
    double c;                       /* NaN: not told */
    double temperature;             /* scores are divided by it */
    uint64_t trees, distinct_trees; /* trained on */
    uint64_t passes;                /* over the distinct trees */
    double gap;      /* the duality gap, nats per tree: so far at most the objective is from the
                        best one */
    double log_loss; /* of the training trees */
    size_t n_folds, n_choices;
    const phl_head_choice *choices; /* [n_choices] that were tried; borrowed */
    size_t chosen;
} phl_head_summary;

PHL_API void phl_head_summarise(const phl_head *head, phl_head_summary *summary);
/* Its dictionary; borrowed. */
PHL_API const phl_features *phl_head_features(const phl_head *head);
/* How much a feature speaks for each class of the run: [classes].  Behind the last feature, what
 * every tree has; NULL beyond. */
PHL_API const double *phl_head_weights(const phl_head *head, size_t feature);

/* ---- An expert on neighbourhoods ---- */

typedef struct phl_expert phl_expert;

typedef struct phl_expert_options {
    size_t size;              /* set by init */
    uint64_t seed;            /* 42: for folds and hidden labels */
    size_t n_folds;           /* 5: weights are learned on trees left out, one fold of so many */
    int threads;              /* 0: all cores; the result does not depend on it */
    const char *command_line; /* stored in the run by phl_train_expert; may be NULL */
    phl_cancel_fn cancel;
    void *context;
    bool models_only; /* false; true: pool the models of the run, without chains of contexts */
} phl_expert_options;

#define phl_expert_options_init(options) phl_expert_options_init_sized((options), sizeof *(options))
PHL_API void phl_expert_options_init_sized(phl_expert_options *options, size_t size);

/* A run with an expert and no model: p(label | labels seen around the node), for filling in labels
 * and for oddity (docs/maths.md). */
PHL_API phl_status phl_train_expert(const phl_forest *forest, const phl_expert_options *options,
                                    phl_run **run, phl_error *error);

/* Give a run a further model, in memory, trained with options of its own (per_class is that of the
 * run).  It has a say once phl_run_add_expert has found what each member counts; an expert that the
 * run has is taken away.  The trees must be those the run was trained on. */
PHL_API phl_status phl_run_add_member(phl_run *run, const phl_forest *forest,
                                      const phl_train_options *options, phl_error *error);
/* Further models of a run, each as a run of its own, borrowed; NULL beyond the last. */
PHL_API size_t phl_run_members(const phl_run *run);
PHL_API const phl_run *phl_run_member(const phl_run *run, size_t index);

/* Give a run an expert, in memory: labels are then filled in, and oddity is measured, by the
 * product of models and expert, with weights that are learned by hiding labels of trees left out;
 * for that every model is trained once or twice more, on the other trees.  The trees must be those
 * the run was trained on. */
PHL_API phl_status phl_run_add_expert(phl_run *run, const phl_forest *forest,
                                      const phl_expert_options *options, phl_error *error);
/* Write the further models and the expert of a run into the file that the run was written to; the
 * rest of it stays. */
PHL_API phl_status phl_run_save_members(const phl_run *run, const char *path, phl_error *error);

/* What the caller provides, filled. */
typedef struct phl_expert_summary {
    uint64_t trees;          /* made of; 0: the run has no expert */
    uint64_t neighbourhoods; /* distinct, with their labels */
    size_t voices;           /* that are multiplied: chains of contexts, and the model */
    uint64_t hidden;         /* labels of trees left out that were hidden at 5, 20, 50 and 90 %, */
    double accuracy;         /* the fraction that the pool predicts, */
    double log_loss;         /* and nats a label */
    uint64_t odd_trees;      /* that percentiles of oddity rest on */
    size_t models;           /* among the voices */
} phl_expert_summary;
PHL_API void phl_expert_summarise(const phl_run *run, phl_expert_summary *summary);

/* ---------------------------------------------------------------------------------------------
 * 13. Folds and cross-validation
 * ------------------------------------------------------------------------------------------- */

/* Read test folds: one fold per line, the 1-based numbers of its trees separated by blanks; empty
 * lines and lines that begin with # are ignored.  fold [n_trees] gets the 0-based fold of every
 * tree.  PHL_ERR_SYNTAX with the place: not a number, out of range, a tree twice; and a tree in no
 * fold, fewer than two folds. */
PHL_API phl_status phl_folds_read(const char *path, size_t n_trees, uint32_t *fold, size_t *n_folds,
                                  phl_error *error);

/* Deal the trees into folds at random, class by class, so that every fold has nearly the same mix
 * of classes.  2 <= n_folds <= trees. */
PHL_API phl_status phl_folds_make(const phl_forest *forest, size_t n_folds, uint64_t seed,
                                  uint32_t *fold, phl_error *error);

/* Where a cross-validation is. */
typedef struct phl_evaluate_progress {
    uint32_t states;              /* C at hand */
    size_t choice, choices;       /* its number in the list, 0-based */
    size_t fold, folds;           /* 0-based */
    const phl_progress *training; /* NULL when the fold was just finished */
    phl_kind kind;                /* at hand; PHL_NO_KIND: a linear classifier alone */
    phl_head_kind head;
    size_t done, all;    /* trials: finished, now or earlier, and to be finished here */
    double seconds_left; /* expected from what finished trials took; NaN: none is yet */
} phl_evaluate_progress;
typedef void (*phl_evaluate_progress_fn)(const phl_evaluate_progress *progress, void *context);

typedef struct phl_evaluate_options {
    size_t size;                    /* set by init */
    const phl_train_options *train; /* how to train; its states (but see below) and callbacks are
                                       not looked at.  per_class: classify; else: held-out
                                       likelihood.  NULL: the defaults, per class */
    const uint32_t *states;         /* [n_states] the values of C to choose from; */
    size_t n_states;                /* 0: train->states alone */
    const uint32_t *fold;           /* [trees] 0-based fold of every tree; NULL: phl_folds_make with
                                       train->seed */
    size_t n_folds;                 /* 10 */
    bool structure;                 /* true */
    phl_class_prior prior;          /* PHL_PRIOR_CHOSEN */
    phl_evaluate_progress_fn progress;
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;

    /* Ways to train that are compared.  A candidate is one of them with one of `states` (or its
     * own); of kind PHL_NO_KIND with a linear head it is a linear classifier alone, which has no
     * states.  All of them are per class, or none is. */
    const phl_train_options *const *trains; /* [n_trains]; */
    size_t n_trains;                        /* 0: `train` alone */
    const phl_class_prior *priors;          /* [n_priors] each candidate is tested with; */
    size_t n_priors;                        /* 0: `prior` alone */

    /* A file that keeps every trial (a candidate trained on all folds but one, and tested on that
     * one) as soon as it is finished; NULL: none.  If it is there, what it holds is not done again.
     * PHL_ERR_CHANGED when it is of other trees, folds, options, seeds or another version,
     * PHL_ERR_WRITE when another cross-validation is at work on it. */
    const char *work;
    size_t piece, pieces; /* only a piece of the trials, from 1; for phl_work_merge; 0: all */
} phl_evaluate_options;

#define phl_evaluate_options_init(options)                                                         \
    phl_evaluate_options_init_sized((options), sizeof *(options))
PHL_API void phl_evaluate_options_init_sized(phl_evaluate_options *options, size_t size);

/* One test fold under one C.  Figures of classification are NaN without classes. */
typedef struct phl_fold_result {
    uint64_t trees, nodes;
    double accuracy, entropy_bits, log_loss;
    double log_likelihood_per_node; /* held-out: of every tree under the model of its own class (the
                                       model, without classes), nats, weighted; trees of classes
                                       that the fold's training lacks do not enter */
} phl_fold_result;

typedef struct phl_choice_result {
    uint32_t states;
    phl_fold_result *folds; /* [n_folds] */
    /* Mean and sample sd over the folds. */
    double accuracy_mean, accuracy_sd, entropy_mean, entropy_sd, log_loss_mean, log_loss_sd;
    double log_likelihood_mean, log_likelihood_sd; /* per node */
    phl_evaluation *pooled;                        /* all folds together; NULL without classes */
    phl_kind kind;                                 /* PHL_NO_KIND: a linear classifier alone */
    phl_head_kind head;
    phl_class_prior prior;
    double accuracy_se, entropy_se, log_loss_se, log_likelihood_se; /* standard errors of means */
    double cost;  /* of its training, expected, in seconds of a fixed machine */
    bool is_near; /* not more than the standard error of the winner worse than it */
} phl_choice_result;

typedef struct phl_cross_validation {
    bool per_class;
    size_t n_folds, n_choices;
    phl_choice_result *choices; /* [n_choices] in the order of the options */
    size_t winner; /* highest mean accuracy, then lowest mean log-loss, then fewest states; without
                      classes highest mean log-likelihood per node, then fewest states */
    size_t chosen; /* the cheapest of those that are near the winner (one standard error) */
    size_t done, all; /* trials; while some are missing there are no figures, but for the folds' */
} phl_cross_validation;

/* For every candidate and fold: train on the other folds (with an alphabet of their own, so that
 * labels may be unseen), test on the fold. */
PHL_API phl_status phl_cross_validate(const phl_forest *forest, const phl_evaluate_options *options,
                                      phl_cross_validation **result, phl_error *error);
PHL_API void phl_cross_validation_free(phl_cross_validation *result);

/* Train a choice of the cross-validation by these options, its number in `choices`, on all trees,
 * into a run file.  Callbacks are those of its training options.  If `path` is this very training,
 * interrupted or finished, it goes on from there; any other file is replaced only with
 * file->replace. */
PHL_API phl_status phl_refit(const phl_forest *forest, const phl_evaluate_options *options,
                             size_t choice, const phl_file_options *file, const char *path,
                             phl_run **run, phl_error *error);

/* Do the first bytes of the file say that it keeps trials of a cross-validation? */
PHL_API bool phl_work_recognise(const char *path);
/* Put such files together, in any order, and what they give into *result; `path` (NULL: no file)
 * keeps all trials and is replaced, if it exists, only with `replace`.  Refused with a message that
 * names the file, before anything is written: one of another cross-validation (PHL_ERR_CHANGED), a
 * trial twice; without `partial` one that is missing (PHL_ERR_ARGUMENT). */
PHL_API phl_status phl_work_merge(const char *const *paths, size_t n_paths, const char *path,
                                  bool replace, bool partial, phl_cross_validation **result,
                                  phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 14. Diagnosis
 *
 * Can a run be trusted?  Chains are compared on quantities that do not depend on how states are
 * numbered, over the draws after the warm-up at temperature 1: rank-normalised split R-hat, bulk
 * and tail effective sample size (ESS), and the Monte Carlo standard error (MCSE) of the mean, as
 * in Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021) and the R package `posterior`.  Restarts
 * of EM are compared by where they ended.
 * ------------------------------------------------------------------------------------------- */

enum {
    PHL_LOG_JOINT = 0,
    PHL_LOG_LIKELIHOOD,
    PHL_ACTIVE_SLOTS,
    PHL_SUM_OF_SIZES, /* sum of k over the slots */
    PHL_QUANTITIES
};

typedef enum phl_verdict {
    PHL_FINE = 0,
    PHL_CONSTANT,   /* one value in all chains: fine */
    PHL_STUCK,      /* every chain has one value, but not the same */
    PHL_DISAGREE,   /* R-hat is too large */
    PHL_FEW_DRAWS,  /* the bulk ESS is too small, or there are too few draws to tell */
    PHL_NOT_FINITE, /* some draw is infinite or not a number */
    PHL_SLIGHT      /* R-hat sees a difference, but one too small to matter: log-likelihoods of
                       halves of chains lie within 0.02 nats a tree, or all chains have the same
                       number of slots or blocks in nine of ten draws: fine */
} phl_verdict;

/* "fine", "constant", "stuck", "disagree", "few draws", "not finite", "slight". */
PHL_API const char *phl_verdict_name(phl_verdict verdict);

/* One quantity over all compared chains.  NaN: not defined (constant, or too few draws). */
typedef struct phl_quantity {
    const char *name; /* "log_joint", "log_likelihood", "active", "sum_size": as in the trace */
    phl_verdict verdict;
    double mean, sd, mcse;
    double rhat; /* where |x - median| is constant, that of the ranks alone */
    double ess_bulk, ess_tail;
} phl_quantity;

/* A chain of Gibbs or a restart of EM. */
typedef struct phl_chain_diagnosis {
    size_t chain;
    uint64_t iterations; /* done */
    double log_joint,
        log_likelihood; /* after the last iteration (EM: log_joint is the objective) */

    /* Gibbs */
    bool compared;  /* false: it has less than half the draws of the longest chain */
    uint64_t draws; /* after the warm-up, at temperature 1 */
    double mean[PHL_QUANTITIES], sd[PHL_QUANTITIES]; /* of those compared; NaN: none */
    uint32_t mode; /* from 1, highest log-likelihood first: chains are in one mode when the central
                      90 % of their log-likelihoods overlap, directly or through other chains; 0:
                      not compared */
    double drift;  /* log-likelihood: mean of the last quarter of the compared draws minus that of
                      the first; NaN: fewer than 8 draws */
    double weight; /* its share in predictions; all chains together 1 */
    bool climbing; /* it rose: the middle half of the last quarter lies above that of the first */
    uint32_t n_slots;        /* active slots in most of the chain's kept draws, */
    uint32_t *slots, *sizes; /* [n_slots] ascending, and their k */

    /* Grammars */
    uint32_t splits; /* that were kept */
    double gain; /* of the last of them on the trees held out, nats a tree; NaN: there is none */
} phl_chain_diagnosis;

typedef struct phl_move_diagnosis {
    const char *name;        /* "reassign", "split", ... */
    uint64_t tried, changed; /* over the compared draws */
} phl_move_diagnosis;

/* What a user should know, as a sentence without its class, and what to do about it (or NULL). */
typedef struct phl_finding {
    bool trouble; /* false: a note */
    char *text, *advice;
} phl_finding;

typedef struct phl_class_diagnosis {
    const char *class_name; /* borrowed from the run; NULL: the run has no classes */
    phl_stop_reason stop_reason;
    bool trouble;
    size_t n_chains; /* that have begun; restarts for EM */
    phl_chain_diagnosis *chains;
    size_t n_findings;
    phl_finding *findings; /* trouble first */
    char *summary;         /* the verdict in one line: "fine, 4 chains agree" */

    /* EM */
    double spread; /* best minus worst objective over the restarts; NaN: fewer than two */

    /* Gibbs */
    uint64_t warmup;   /* iterations that do not count */
    size_t n_compared; /* chains */
    size_t draws;      /* of each, that were compared */
    size_t modes;      /* see phl_chain_diagnosis.mode */
    phl_quantity quantities[PHL_QUANTITIES];
    size_t n_moves;
    phl_move_diagnosis *moves;

    /* tf: which slots are active in the kept draws.  The overlap of two draws is the number of
     * slots active in both over that of slots active in either (Jaccard's), 1 when there are none.
     */
    double overlap_within;  /* mean over pairs of draws of one chain; NaN: there is no such pair */
    double overlap_between; /* of different chains; the same */
    bool slots_agree;       /* the overlap between chains is at least 0.8 of that within */
    double slots_at_limit;  /* share of the draws with as many active slots as `slots_max` of the
                               training allows, where more could be; NaN: unknown */

    /* Grammars with several classes and starts: the first half of the starts that classify against
     * the second, each averaged, on the trees held out that all of them together give to the class.
     */
    size_t answers;       /* such trees */
    double answers_same;  /* share of them to which both halves give the class; NaN: none */
    double answers_shift; /* mean total variation distance between the class posteriors of the
                             halves; NaN: none */
} phl_class_diagnosis;

/* Of the linear head, by its cross-validation. */
typedef struct phl_head_diagnosis {
    bool there; /* false: the run has no head, and nothing else is told */
    bool trouble;
    /* Of the trees left out, NaN where no settings were chosen; and of what knows nothing of trees:
     * it says the shares of the classes, and the largest one. */
    double log_loss, accuracy, calibration_error;
    double log_loss_of_shares, largest_share;
    double gap; /* as in phl_head_summary */
    size_t n_findings;
    phl_finding *findings;
    char *summary; /* the verdict in one line */
} phl_head_diagnosis;

typedef struct phl_diagnosis {
    phl_learner learner; /* EM or Gibbs */
    bool trouble;        /* in any class, or with the head */
    size_t n_classes;
    phl_class_diagnosis *classes; /* [n_classes] */
    char *
        summary; /* the verdict in one line: "fine, 4 chains agree", "trouble in 2 of 11 classes" */
    phl_head_diagnosis head;
} phl_diagnosis;

typedef struct phl_diagnose_options {
    size_t size;        /* set by init */
    bool allow_few;     /* fewer than 4 chains are no trouble */
    size_t class_index; /* SIZE_MAX: all classes; else this one alone */
} phl_diagnose_options;

#define phl_diagnose_options_init(options)                                                         \
    phl_diagnose_options_init_sized((options), sizeof *(options))
PHL_API void phl_diagnose_options_init_sized(phl_diagnose_options *options, size_t size);

/* Trouble is, for a Gibbs run: R-hat above 1.05, a bulk ESS below 100 over all chains, a quantity
 * that is stuck, fewer than 4 chains, too few draws to tell.  Log-likelihood, the number of active
 * slots and the sum of their sizes count; the log-joint does not, because it depends on states that
 * no prediction needs, unless it is not finite.  For EM: an objective that is not finite or fell.
 * For both: a class that was never trained.  The iteration limit of EM, a single restart, an
 * interruption, a log-joint on which chains differ and chains that use different slots are notes.
 * The run must outlive the diagnosis. */
PHL_API phl_status phl_diagnose(const phl_run *run, const phl_diagnose_options *options,
                                phl_diagnosis *diagnosis, phl_error *error);
/* Release what a diagnosis holds; a zeroed one is fine. */
PHL_API void phl_diagnosis_clear(phl_diagnosis *diagnosis);

#ifdef __cplusplus
}
#endif

#endif
