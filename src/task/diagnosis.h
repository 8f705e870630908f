/* diagnosis.h - what the parts of a diagnosis share: diagnose.c, diagnose_chains.c,
 * diagnose_slots.c, diagnose_starts.c, findings.c. */
#ifndef PHL_TASK_DIAGNOSIS_H
#define PHL_TASK_DIAGNOSIS_H

#include "model/run.h"
#include "train/schedule.h"

#define PHL_RHAT_MOST 1.05
#define PHL_ESS_LEAST 100.0
#define PHL_CHAINS_LEAST 4
/* What chains may differ by, whatever R-hat says: no event is more probable in one than in another
 * by more than PHL_SHIFT_MOST.  Between distributions of trees that is so if they are closer than
 * 2 shift^2 nats a tree (Pinsker); between distributions of a count, if all chains have one and the
 * same value in the share 1 - shift of their draws. */
#define PHL_SHIFT_MOST 0.1
#define PHL_NATS_MOST (2.0 * PHL_SHIFT_MOST * PHL_SHIFT_MOST)
#define PHL_OVERLAP_LEAST 0.8 /* between chains, of that within */
/* What halves of a grammar's starts may differ by on the class of a tree, on so many trees at
 * least: the mean of all starts varies less than that of a half, by the square root of two. */
#define PHL_HALVES_MOST (1.4142135623730951 * PHL_SHIFT_MOST)
#define PHL_ANSWERS_LEAST 10

/* How a run was made, as far as a diagnosis needs it. */
typedef struct phl_plan {
    bool gibbs, paper;     /* else EM; the paper's sampler */
    uint32_t slots_max;    /* active slots at most; 0: unknown, or given by the user */
    phl_schedule schedule; /* of a chain: which draws count */
} phl_plan;

/* The rows of one class, ordered by chain and iteration. */
typedef struct phl_rows_of_class {
    const phl_trace_row *rows;
    size_t n;
} phl_rows_of_class;

/* ---- diagnose_chains.c: figures ---- */

/* Chains and, for Gibbs, everything that is computed from their draws.  What was made is released
 * by phl_diagnosis_clear, on failure too. */
phl_status phl_diagnose_chains(const phl_model *model, const phl_plan *plan, phl_rows_of_class rows,
                               phl_class_diagnosis *made, phl_error *error);

/* ---- diagnose_slots.c: active slots of the kept draws ---- */

/* The slots of every chain, how much those of two draws overlap, and how often they are as many as
 * may be. */
phl_status phl_diagnose_slots(const phl_model *model, const phl_plan *plan,
                              phl_class_diagnosis *made, phl_error *error);

/* ---- diagnose_starts.c: starts of a grammar ---- */

/* What the last split of every start gained, and whether halves of the starts give the same classes
 * to the trees held out.  Of other models nothing. */
phl_status phl_diagnose_starts(const phl_model *model, phl_class_diagnosis *made, phl_error *error);

/* ---- findings.c: sentences ---- */

/* Is a quantity of this verdict no trouble? */
static inline bool phl_verdict_fine(phl_verdict verdict)
{
    return verdict == PHL_FINE || verdict == PHL_CONSTANT || verdict == PHL_SLIGHT;
}

/* Says what the figures mean and whether that is trouble. */
phl_status phl_findings_gibbs(const phl_model *model, const phl_plan *plan, bool allow_few,
                              phl_class_diagnosis *made, phl_error *error);
phl_status phl_findings_em(const phl_model *model, phl_rows_of_class rows,
                           phl_class_diagnosis *made, phl_error *error);
phl_status phl_findings_grammar(const phl_model *model, phl_class_diagnosis *made,
                                phl_error *error);

/* The linear head of a run, if it has one; released by phl_diagnosis_clear, on failure too. */
phl_status phl_findings_head(const phl_run *run, phl_head_diagnosis *made, phl_error *error);

/* The verdict in one line: of a class whose findings are made, of all of them together. */
phl_status phl_findings_sum_up(const phl_plan *plan, phl_class_diagnosis *made, phl_error *error);
phl_status phl_findings_sum_up_all(phl_diagnosis *made, phl_error *error);

#endif
