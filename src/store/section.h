/* section.h - the sections of a run file: what it consists of, and how more can be added.
 *
 * A section is a group of tables with a row in the table `section`: its name, its version, whether
 * a program that does not know it must refuse the run, and the digest of its rows.  A program
 * refuses a run with a required section that it does not know, or knows in older versions only, and
 * names it; sections that are not required it passes over.  To add one:
 *
 *  1. its tables into schema.c, a row into the list in section.c;
 *  2. a member of struct phl_run (model/run.h) that owns what it says, empty where a run has none;
 *  3. a writer beside those in run_write.c, a reader beside those in run_open.c;
 *  4. its description in docs/run-file.md.
 */
#ifndef PHL_STORE_SECTION_H
#define PHL_STORE_SECTION_H

#include "store/digest.h"

typedef enum phl_section {
    PHL_SECTION_MODELS, /* facts, labels, classes, draws: what models are made of */
    PHL_SECTION_TRACE,
    PHL_SECTION_FOREST,     /* trained on */
    PHL_SECTION_CHECKPOINT, /* where training stood */
    PHL_SECTION_HEAD,       /* linear classifier */
    PHL_SECTION_EXPERT,     /* on neighbourhoods, and weights of a pool */
    PHL_SECTION_MEMBERS,    /* further models, each a run file of its own */
    PHL_SECTION_SHAPES,     /* which shapes trees have */
    PHL_SECTIONS
} phl_section;

/* Are all sections of the run known, and all that we know there?  In format 1 there are no others.
 */
phl_status phl_section_check(phl_database *database, phl_error *error);

/* The digest of all rows of a section, as they are now. */
phl_status phl_section_digest(phl_database *database, phl_section section, phl_digest *digest,
                              phl_error *error);
/* Writing: say that this is the digest. */
phl_status phl_section_seal(const phl_database *database, phl_section section,
                            const phl_digest *digest, phl_error *error);
/* Both: digest the rows anew and say so.  The digest is handed out as well, unless NULL. */
phl_status phl_section_renew(phl_database *database, phl_section section, phl_digest *digest,
                             phl_error *error);
/* Reading: compare. */
phl_status phl_section_verify(phl_database *database, phl_section section, phl_error *error);

/* The same for runs of format 1 (format1.c). */
phl_status phl_format1_verify(phl_database *database, phl_section section, phl_error *error);

#endif
