/* use_runs.c - use run files as strangers' files are used, one after the other.
 *
 * Reads lines from standard input: "use PATH" uses the file (use_run.h) and answers with the status
 * of opening it and the seconds of processor time that all took; "fit PATH" makes fingerprint and
 * digests fit the trees, and answers 1 or 0.  Ends at the first thing that goes wrong.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "use_run.h"

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        clock_t began = clock();
        if (strncmp(line, "use ", 4) == 0) {
            int status = (int)use_run(line + 4);
            printf("%d %.3f\n", status, (double)(clock() - began) / CLOCKS_PER_SEC);
        } else if (strncmp(line, "fit ", 4) == 0) {
            printf("%d\n", use_run_fit(line + 4));
        } else {
            fprintf(stderr, "use_runs: what is '%s'?\n", line);
            return 2;
        }
        (void)fflush(stdout);
    }
    return 0;
}
