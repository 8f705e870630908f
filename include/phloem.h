/* phloem.h - the one public header of libphloem.
 *
 * Phloem learns from tree-shaped data.  This header is everything the command line and the
 * bindings use.
 *
 * Conventions
 *  - Opaque types are made by a `create`, `read` or `finish` call and released by `free`;
 *    freeing NULL is fine.
 *  - A `const` argument is borrowed.  Outputs come last, before the error record.
 *  - Every call that can fail returns a phl_status (PHL_OK is 0, failures are negative) and takes a
 *    `phl_error *` as its last argument, which may be NULL.  On failure outputs are NULL/untouched.
 *  - Const calls on one object may be made from several threads at once.
 *  - Strings are UTF-8 without NUL bytes.
 *  - The library never prints, never exits and holds no global state.
 *
 * Contents: 1 errors, 2 callbacks, 3 building a forest, 4 querying a forest, 5 combining forests,
 * 6 reading, 7 writing, 8 statistics, 9 generators.
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

/* ---------------------------------------------------------------------------------------------
 * 1. Errors
 * ------------------------------------------------------------------------------------------- */

/* Grouped by theme: -status / 100 is the exit code of the command line. */
typedef enum phl_status {
    PHL_OK = 0,
    PHL_ERR_ARGUMENT = -201,  /* a caller's argument is out of range or contradicts another */
    PHL_ERR_SYNTAX = -301,    /* input is not what its format prescribes */
    PHL_ERR_ENCODING = -302,  /* input is not UTF-8, or holds a NUL byte */
    PHL_ERR_LIMIT = -303,     /* input passes a cap that an option can raise */
    PHL_ERR_FORMAT = -304,    /* the format of an input cannot be told */
    PHL_ERR_EXPRESS = -305,   /* a tree holds something the output format cannot express */
    PHL_ERR_EMPTY = -306,     /* an operation needs at least one tree */
    PHL_ERR_OPEN = -401,      /* a file or folder cannot be opened, or holds no trees */
    PHL_ERR_READ = -402,      /* reading failed */
    PHL_ERR_WRITE = -403,     /* writing failed (disk full, no permission, ...) */
    PHL_ERR_MEMORY = -404,    /* memory is used up */
    PHL_ERR_INTERNAL = -501,  /* a defect in the library */
    PHL_ERR_CANCELLED = -13000 /* the caller's cancel callback said stop */
} phl_status;

/* What went wrong, why, and what to do about it.  A plain struct with room of its own, so that it
 * can be filled when memory is used up.  Strings are always terminated; long ones are cut. */
typedef struct phl_error {
    phl_status status;
    char message[640]; /* cause: what was found, what was expected */
    char remedy[320];  /* what the user can do; may be empty */
    char file[512];    /* input the error is in; may be empty */
    uint64_t line;     /* 1-based; 0 = not known */
    uint64_t column;   /* 1-based, counted in characters; 0 = not known */
} phl_error;

/* Exit code of the command line for a status: 0, 2 usage, 3 data, 4 system, 5 internal, 130. */
PHL_API int phl_status_exit_code(phl_status status);

/* "file:line:column: message; remedy" into buffer (always terminated).  Returns buffer. */
PHL_API char *phl_error_format(const phl_error *error, char *buffer, size_t size);

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
    bool no_sharing; /* keep every occurrence as a subtree of its own (tests, benchmarks) */
} phl_builder_options;

/* What a tree carries beside its nodes. */
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

/* A child of an internal node. */
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
PHL_API uint32_t phl_subtree_leaf_slot(const phl_forest *forest, uint32_t subtree); /* 0: internal */
PHL_API size_t phl_subtree_links(const phl_forest *forest, uint32_t subtree,
                                 const phl_link **links); /* ascending slots */
PHL_API int64_t phl_subtree_multiplicity(const phl_forest *forest, uint32_t subtree);

/* Walk one tree node by node in pre-order, without recursion. */
typedef struct phl_walk phl_walk;
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
    PHL_FORMAT_PTB
} phl_format;

PHL_API const char *phl_format_name(phl_format format);
/* By its name ("brackets", ...); PHL_FORMAT_AUTO if there is none such. */
PHL_API phl_format phl_format_find(const char *name);
/* By a file's name, endings .gz and .zst ignored; PHL_FORMAT_AUTO if it cannot be told. */
PHL_API phl_format phl_format_of_file(const char *path);

typedef enum phl_conllu_label {
    PHL_CONLLU_UPOS = 0,
    PHL_CONLLU_DEPREL,
    PHL_CONLLU_FORM
} phl_conllu_label;

typedef struct phl_read_options {
    phl_format format;
    bool no_sharing;          /* as in phl_builder_options */
    bool skip_bad;            /* report bad trees and go on */
    const char *class_name;   /* class of every tree; NULL: as the input says */
    bool no_class;            /* drop classes */
    bool class_by_folder;     /* class = the folder's name, for every format (XML: always) */
    const char *const *only_classes; /* keep trees of these classes only ... */
    size_t n_only_classes;           /* ... 0: all */
    size_t limit;             /* stop after so many trees; 0: no limit */
    bool xml_attributes;      /* attributes as leaves labelled "@name" */
    bool xml_text;            /* text as leaves labelled "#text" */
    bool ptb_drop_words;      /* leave words out of parse trees */
    phl_conllu_label conllu_label;
    /* Caps; 0 = default. */
    uint64_t max_nodes;       /* nodes a tree: 100,000,000 */
    uint64_t max_children;    /* highest slot: 10,000,000 */
    uint64_t max_depth;       /* XML nesting: 10,000 */
    uint64_t max_attributes;  /* XML attributes an element: 10,000 */
    uint64_t max_name;        /* bytes of a label or class: 65,536 */
    uint64_t max_token;       /* bytes of one line of text or one piece of markup: 1 GiB, XML 16 MiB */
    uint64_t max_ratio;       /* decompressed to compressed size (past 64 MiB): 1,000 */
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;            /* for both callbacks */
} phl_read_options;

typedef struct phl_read_summary {
    uint64_t files;
    uint64_t trees;   /* that entered the forest */
    uint64_t skipped; /* bad trees passed over (skip_bad) */
    uint64_t bytes;   /* of text, after decompression */
} phl_read_summary;

PHL_API void phl_read_options_init(phl_read_options *options);

/* Read files and folders ("-" is standard input) into one forest.  A folder stands for every file
 * below it whose name has a known ending, in order of name.  `summary` may be NULL. */
PHL_API phl_status phl_forest_read(const char *const *paths, size_t n_paths,
                                   const phl_read_options *options, phl_forest **forest,
                                   phl_read_summary *summary, phl_error *error);

/* The same from memory; `name` stands for the file in errors and sources.  A format must be given,
 * or be recognisable from the content. */
PHL_API phl_status phl_forest_read_memory(const void *text, size_t size, const char *name,
                                          const phl_read_options *options, phl_forest **forest,
                                          phl_read_summary *summary, phl_error *error);

/* ---------------------------------------------------------------------------------------------
 * 7. Writing
 * ------------------------------------------------------------------------------------------- */

typedef struct phl_write_options {
    phl_format format;  /* AUTO: by the name of the output, else brackets */
    phl_conllu_label conllu_label;
    bool force;         /* XML: write into a folder that is not empty */
    phl_report_fn report; /* notes: what the format leaves out (ids) */
    phl_cancel_fn cancel;
    void *context;
} phl_write_options;

PHL_API void phl_write_options_init(phl_write_options *options);

/* Write all trees to a file ("-" is standard output), compressed when its name ends in .gz or .zst.
 * The file is replaced only when complete.  XML with more than one tree: `path` is a folder, made
 * if need be, with one folder a class.  A tree the format cannot express is refused with
 * PHL_ERR_EXPRESS before anything is replaced. */
PHL_API phl_status phl_forest_write(const phl_forest *forest, const char *path,
                                    const phl_write_options *options, phl_error *error);

/* The same into memory (free with phl_free); not for XML of more than one tree. */
PHL_API phl_status phl_forest_write_memory(const phl_forest *forest,
                                           const phl_write_options *options, char **text,
                                           size_t *size, phl_error *error);
PHL_API void phl_free(void *memory);

/* ---------------------------------------------------------------------------------------------
 * 8. Statistics
 * ------------------------------------------------------------------------------------------- */

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
    uint32_t max_slot;             /* largest slot used */
    uint64_t *slot_filled;         /* [max_slot] internal nodes with that slot filled */
    size_t n_classes;              /* trees without class are one more entry, last */
    phl_class_stats *classes;
    uint64_t ambiguous_shapes;     /* distinct trees that occur in more than one class */
    uint64_t ambiguous_trees;      /* trees that are one of those */
} phl_stats;

PHL_API phl_status phl_stats_compute(const phl_forest *forest, phl_stats *stats, phl_error *error);
PHL_API void phl_stats_clear(phl_stats *stats);

/* ---------------------------------------------------------------------------------------------
 * 9. Generators
 * ------------------------------------------------------------------------------------------- */

/* The paper's labelling trees: classes left, symmetric, right; label = number of children. */
typedef struct phl_symm_options {
    uint64_t seed;
    size_t trees_per_class; /* 260 */
} phl_symm_options;
PHL_API void phl_symm_options_init(phl_symm_options *options);
PHL_API phl_status phl_generate_symm(const phl_symm_options *options, phl_forest **forest,
                                     phl_error *error);

/* Families of XML-like documents: one vocabulary, a grammar a class with optional and repeated
 * sections. */
typedef struct phl_documents_options {
    uint64_t seed;
    size_t classes;         /* 4 */
    size_t trees_per_class; /* 100 */
    size_t nodes;           /* mean nodes a document, about: 40 */
    size_t vocabulary;      /* element names: 60 */
    double noise;           /* chance that a node's label is replaced: 0.02 */
    double overlap;         /* share of grammar rules common to all classes: 0.5 */
} phl_documents_options;
PHL_API void phl_documents_options_init(phl_documents_options *options);
PHL_API phl_status phl_generate_documents(const phl_documents_options *options,
                                          phl_forest **forest, phl_error *error);

#ifdef __cplusplus
}
#endif

#endif
