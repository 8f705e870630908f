/* numbers.c - numbers as text; see terminal.h. */
#include "print/terminal.h"

#include <stdlib.h>

#include "base/text.h"

char *number_grouped(uint64_t number, char *buffer)
{
    return phl_text_grouped(number, buffer);
}

char *number_exact(double number, char *buffer)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, NUMBER_SIZE, "%.*g", digits, number);
        if (strtod(buffer, NULL) == number) {
            break;
        }
    }
    return buffer;
}

char *number_of(uint64_t number, const char *one, const char *many, char *buffer, size_t size)
{
    char digits[NUMBER_SIZE];
    snprintf(buffer, size, "%s %s", number_grouped(number, digits), number == 1 ? one : many);
    return buffer;
}
