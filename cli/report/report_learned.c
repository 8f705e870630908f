/* report_learned.c - what a run learned: its models, its linear head, its expert; see report.h. */
#include "report/report.h"

static void put_expert(json_writer *json, const phl_run *run)
{
    phl_expert_summary expert;
    phl_expert_summarise(run, &expert);
    if (expert.trees == 0) {
        return;
    }
    json_out_object(json, "expert", true);
    json_out_count(json, "trees", expert.trees);
    json_out_count(json, "neighbourhoods", expert.neighbourhoods);
    json_out_count(json, "voices", expert.voices);
    json_out_count(json, "hidden", expert.hidden);
    report_values_real(json, "accuracy", expert.accuracy, 6);
    report_values_real(json, "log_loss", expert.log_loss, 6);
    json_out_close(json, '}');
}

phl_status report_learned_write(report *r, size_t run, phl_error *error)
{
    const phl_run *of = r->runs[run].run;
    phl_status status = PHL_OK;
    json_out_object(r->json, "learned", false);
    if (phl_run_kind(of) == PHL_GRAMMAR) {
        report_grammar_write(r, run);
    } else if (phl_run_kind(of) != PHL_NO_KIND) {
        report_states_write(r, run);
    }
    if (phl_run_head(of)) {
        status = report_head_write(r, run, error);
    }
    put_expert(r->json, of);
    json_out_close(r->json, '}');
    return status;
}
