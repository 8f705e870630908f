/* one_test.c - linked to a unit test by run.py: $ONLY names the one test of it that runs, and what
 * it says is seen at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_test(void)
{
    const char *only = getenv("ONLY");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (only != NULL) {
        cmocka_set_test_filter(only);
    }
}
