/* html_scan.c - how much work a page will be, found out before the parser is let at it.
 *
 * Contents: the stack of open elements, tags, the scan.
 *
 * gumbo takes time in proportion to the length of a page but for four things, with which a small
 * page can keep it busy for hours:
 *  - many tags look through the open elements: the deeper, the longer;
 *  - while a formatting element (<b>, <font>) is open, so does every character of text;
 *  - an attribute is compared with those before it in its tag;
 *  - the attributes of a second <html> or <body> are compared with those of the first.
 * The scan goes through the tags with a stack of its own, which follows the rules of HTML in so far
 * as they decide what is open, and adds up these costs in nanoseconds, as measured; a page may take
 * some time, and some more for each byte.  Where the rules are not followed closely the stack is
 * rather too high than too low.  It takes no longer than it reckons.
 */
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "format/html.h"

enum {
    FREE_WORK = 150000000, /* nanoseconds: of any page, */
    WORK_A_BYTE = 150,     /* and for each byte */
    STEP = 5,              /* one open element looked at */
    FOREIGN_STEP = 15,     /* the same, inside <svg> and <math> */
    ATTRIBUTE_STEP = 4,    /* one attribute looked at */
    STEPS_A_CHARACTER = 3  /* open elements looked at in a nanosecond, for a character */
};

typedef struct tag_name {
    GumboTag tag;
    const char *bytes; /* in the page */
    size_t length;
} tag_name;

typedef struct open_element {
    tag_name name;
    bool foreign;        /* what is in it follows the rules of <svg> or <math> */
    uint32_t formatting; /* formatting elements open outside of it, if it keeps them out */
} open_element;

typedef struct html_scan {
    const phl_reader *reader;
    phl_error *error;
    const char *text, *end;
    const char *at;
    open_element *open;
    size_t depth, capacity;
    uint32_t formatting; /* elements that come back in every block until they are closed */
    size_t tables;       /* open */
    uint64_t root_attributes;
    bool doubtful; /* <svg>, <select> and the like: raw text may be tags after all */
    uint64_t work, limit;
} html_scan;

/* What a tag does, in bits. */
enum {
    VOID = 1,         /* has no content */
    CLOSES_P = 2,     /* closes an open <p> */
    BOUNDARY = 4,     /* ends the look for an open element */
    FORMATTING = 8,   /* comes back until it is closed */
    KEEPS_OUT = 16,   /* formatting elements from outside do not come back in it */
    RAW = 32,         /* its content is text up to its end tag */
    TABLE_PART = 64,  /* means nothing outside of a table */
    INTEGRATION = 128 /* HTML inside <svg> and <math> */
};

static unsigned traits(GumboTag tag)
{
    switch (tag) {
    case GUMBO_TAG_AREA:
    case GUMBO_TAG_BASE:
    case GUMBO_TAG_BR:
    case GUMBO_TAG_COL:
    case GUMBO_TAG_EMBED:
    case GUMBO_TAG_IMG:
    case GUMBO_TAG_INPUT:
    case GUMBO_TAG_KEYGEN:
    case GUMBO_TAG_LINK:
    case GUMBO_TAG_META:
    case GUMBO_TAG_PARAM:
    case GUMBO_TAG_SOURCE:
    case GUMBO_TAG_TRACK:
    case GUMBO_TAG_WBR:
    case GUMBO_TAG_BASEFONT:
    case GUMBO_TAG_BGSOUND:
    case GUMBO_TAG_FRAME:
        return VOID;
    case GUMBO_TAG_HR:
        return VOID | CLOSES_P;
    case GUMBO_TAG_ADDRESS:
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_ASIDE:
    case GUMBO_TAG_BLOCKQUOTE:
    case GUMBO_TAG_CENTER:
    case GUMBO_TAG_DETAILS:
    case GUMBO_TAG_DIR:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_DD:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_FIGCAPTION:
    case GUMBO_TAG_FIGURE:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_HGROUP:
    case GUMBO_TAG_LI:
    case GUMBO_TAG_LISTING:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_MENU:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_P:
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_SUMMARY:
    case GUMBO_TAG_UL:
        return CLOSES_P;
    case GUMBO_TAG_TABLE:
        return CLOSES_P | BOUNDARY;
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_TD:
    case GUMBO_TAG_TH:
        return TABLE_PART | BOUNDARY | KEEPS_OUT;
    case GUMBO_TAG_COLGROUP:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_TFOOT:
    case GUMBO_TAG_THEAD:
    case GUMBO_TAG_TR:
        return TABLE_PART;
    case GUMBO_TAG_APPLET:
    case GUMBO_TAG_MARQUEE:
    case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_TEMPLATE:
        return BOUNDARY | KEEPS_OUT;
    case GUMBO_TAG_A:
    case GUMBO_TAG_B:
    case GUMBO_TAG_BIG:
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_EM:
    case GUMBO_TAG_FONT:
    case GUMBO_TAG_I:
    case GUMBO_TAG_NOBR:
    case GUMBO_TAG_S:
    case GUMBO_TAG_SMALL:
    case GUMBO_TAG_STRIKE:
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_TT:
    case GUMBO_TAG_U:
        return FORMATTING;
    case GUMBO_TAG_TITLE:
        return RAW | INTEGRATION;
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_NOEMBED:
    case GUMBO_TAG_NOFRAMES:
    case GUMBO_TAG_PLAINTEXT:
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_TEXTAREA:
        return RAW;
    case GUMBO_TAG_XMP:
        return RAW | CLOSES_P;
    case GUMBO_TAG_DESC:
    case GUMBO_TAG_FOREIGNOBJECT:
    case GUMBO_TAG_ANNOTATION_XML:
    case GUMBO_TAG_MI:
    case GUMBO_TAG_MO:
    case GUMBO_TAG_MN:
    case GUMBO_TAG_MS:
    case GUMBO_TAG_MTEXT:
        return INTEGRATION;
    default:
        return 0;
    }
}

/* ---------------------------------------------------------------------------------------------
 * The stack of open elements
 * ------------------------------------------------------------------------------------------- */

static bool in_foreign(const html_scan *scan)
{
    return scan->depth > 0 && scan->open[scan->depth - 1].foreign;
}

static void close_down_to(html_scan *scan, size_t depth)
{
    while (scan->depth > depth) {
        const open_element *last = &scan->open[--scan->depth];
        scan->tables -= last->name.tag == GUMBO_TAG_TABLE;
        if ((traits(last->name.tag) & KEEPS_OUT) != 0) {
            scan->formatting = last->formatting;
        }
    }
}

/* Tags that gumbo does not know are told apart by their names. */
static bool is_same(const tag_name *a, const tag_name *b)
{
    return a->tag == b->tag &&
           (a->tag != GUMBO_TAG_UNKNOWN ||
            (a->length == b->length && strncasecmp(a->bytes, b->bytes, a->length) == 0));
}

/* The innermost open element of this name, its number from 1; 0 if there is none, or none up to a
 * boundary if that is asked for. */
static size_t find_open(html_scan *scan, const tag_name *name, bool within)
{
    uint64_t step = in_foreign(scan) ? FOREIGN_STEP : STEP;
    for (size_t i = scan->depth; i > 0; i--) {
        const tag_name *here = &scan->open[i - 1].name;
        scan->work += step;
        if (is_same(here, name)) {
            return i;
        }
        if (within && (traits(here->tag) & BOUNDARY) != 0) {
            return 0;
        }
    }
    return 0;
}

static phl_status push(html_scan *scan, const tag_name *name, bool foreign)
{
    phl_status status =
        phl_grow(&scan->open, &scan->capacity, scan->depth + 1, sizeof *scan->open, scan->error);
    if (status != PHL_OK) {
        return status;
    }
    scan->open[scan->depth++] = (open_element){*name, foreign, scan->formatting};
    scan->tables += name->tag == GUMBO_TAG_TABLE;
    if ((traits(name->tag) & KEEPS_OUT) != 0) {
        scan->formatting = 0;
    }
    return PHL_OK;
}

/* Close up to the innermost element of this kind, it included, unless a list or the like begins in
 * between: what <li>, <dd> and <dt> do to the one before. */
static void close_item(html_scan *scan, GumboTag tag, GumboTag other)
{
    for (size_t i = scan->depth; i > 0; i--) {
        GumboTag here = scan->open[i - 1].name.tag;
        scan->work += STEP;
        if (here == tag || here == other) {
            close_down_to(scan, i - 1);
            return;
        }
        unsigned has = traits(here);
        if ((has & (BOUNDARY | CLOSES_P | TABLE_PART)) != 0 && here != GUMBO_TAG_P &&
            here != GUMBO_TAG_DIV && here != GUMBO_TAG_ADDRESS) {
            return;
        }
    }
}

/* Rank of a part of a table: what begins a part ends those of its rank and below. */
static int part_rank(GumboTag tag)
{
    switch (tag) {
    case GUMBO_TAG_TABLE:
        return 4;
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_COLGROUP:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_TFOOT:
    case GUMBO_TAG_THEAD:
        return 3;
    case GUMBO_TAG_TR:
        return 2;
    case GUMBO_TAG_TD:
    case GUMBO_TAG_TH:
        return 1;
    default:
        return 0;
    }
}

static void close_parts(html_scan *scan, GumboTag tag)
{
    int rank = part_rank(tag);
    while (scan->depth > 0 && part_rank(scan->open[scan->depth - 1].name.tag) <= rank) {
        scan->work += STEP;
        close_down_to(scan, scan->depth - 1);
    }
}

/* An element out of the middle: a formatting element is closed, and the blocks in it stay open. */
static void take_out(html_scan *scan, size_t number)
{
    size_t above = scan->depth - number;
    memmove(scan->open + number - 1, scan->open + number, above * sizeof *scan->open);
    scan->work += STEP * above;
    scan->depth--;
}

/* ---------------------------------------------------------------------------------------------
 * Tags
 * ------------------------------------------------------------------------------------------- */

static bool is_doubtful(GumboTag tag)
{
    return tag == GUMBO_TAG_SVG || tag == GUMBO_TAG_MATH || tag == GUMBO_TAG_SELECT ||
           tag == GUMBO_TAG_FRAMESET || tag == GUMBO_TAG_TEMPLATE;
}

/* Tags of HTML end <svg> and <math>, but for those that have these names there as well. */
static bool ends_foreign(GumboTag tag, unsigned has)
{
    return tag != GUMBO_TAG_UNKNOWN && (has & (INTEGRATION | RAW)) == 0 && tag != GUMBO_TAG_A &&
           tag != GUMBO_TAG_SVG && tag != GUMBO_TAG_MATH;
}

static void leave_foreign(html_scan *scan)
{
    while (in_foreign(scan)) {
        scan->work += STEP;
        close_down_to(scan, scan->depth - 1);
    }
}

/* What a start tag ends before its element begins. */
static void end_before(html_scan *scan, const tag_name *name, unsigned has)
{
    GumboTag tag = name->tag;
    if ((has & CLOSES_P) != 0) {
        const tag_name paragraph = {GUMBO_TAG_P, NULL, 0};
        size_t p = find_open(scan, &paragraph, true);
        if (p > 0) {
            close_down_to(scan, p - 1);
        }
    }
    if (tag == GUMBO_TAG_LI) {
        close_item(scan, GUMBO_TAG_LI, GUMBO_TAG_LI);
    } else if (tag == GUMBO_TAG_DD || tag == GUMBO_TAG_DT) {
        close_item(scan, GUMBO_TAG_DD, GUMBO_TAG_DT);
    } else if (tag == GUMBO_TAG_OPTION && scan->depth > 0 &&
               scan->open[scan->depth - 1].name.tag == GUMBO_TAG_OPTION) {
        close_down_to(scan, scan->depth - 1);
    } else if (tag == GUMBO_TAG_A || tag == GUMBO_TAG_NOBR) {
        size_t before = find_open(scan, name, true);
        if (before > 0) {
            take_out(scan, before);
            scan->formatting -= scan->formatting > 0;
        }
    } else if ((has & TABLE_PART) != 0 && scan->tables > 0) {
        close_parts(scan, tag);
    }
}

static phl_status start_tag(html_scan *scan, const tag_name *name, bool closed)
{
    GumboTag tag = name->tag;
    unsigned has = traits(tag);
    scan->doubtful |= is_doubtful(tag);
    if (in_foreign(scan) && ends_foreign(tag, has)) {
        leave_foreign(scan);
    }
    if (in_foreign(scan)) {
        scan->work += FOREIGN_STEP;
        return closed ? PHL_OK : push(scan, name, (has & INTEGRATION) == 0);
    }
    scan->work += STEP * (uint64_t)scan->formatting;
    end_before(scan, name, has);
    bool foreign = tag == GUMBO_TAG_SVG || tag == GUMBO_TAG_MATH;
    if ((has & VOID) != 0 || (foreign && closed) ||
        ((has & TABLE_PART) != 0 && scan->tables == 0) || tag == GUMBO_TAG_HTML ||
        tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_HEAD) {
        return PHL_OK;
    }
    if ((has & FORMATTING) != 0) {
        scan->formatting++;
        scan->work += ATTRIBUTE_STEP * (uint64_t)scan->formatting;
    }
    return push(scan, name, foreign);
}

static void end_tag(html_scan *scan, const tag_name *name)
{
    GumboTag tag = name->tag;
    unsigned has = traits(tag);
    if (in_foreign(scan) && (tag == GUMBO_TAG_P || tag == GUMBO_TAG_BR)) {
        leave_foreign(scan);
    }
    size_t found = find_open(scan, name, part_rank(tag) == 0);
    if ((has & FORMATTING) != 0) {
        if (found > 0) {
            take_out(scan, found);
        }
        scan->formatting -= scan->formatting > 0;
    } else if (found > 0) {
        close_down_to(scan, found - 1);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The scan
 * ------------------------------------------------------------------------------------------- */

static phl_position place_of(const html_scan *scan, const char *at)
{
    phl_position place = {scan->reader->file, 1, 1};
    const char *line = scan->text;
    for (const char *newline = line; (newline = memchr(newline, '\n', (size_t)(at - newline)));) {
        place.line++;
        line = ++newline;
    }
    place.column += phl_utf8_count(line, (size_t)(at - line));
    return place;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Pass over the value of an attribute, of which '=' was met. */
static void pass_value(html_scan *scan)
{
    while (scan->at < scan->end && phl_html_is_blank(*scan->at)) {
        scan->at++;
    }
    if (scan->at < scan->end && (*scan->at == '"' || *scan->at == '\'')) {
        const char *close = memchr(scan->at + 1, *scan->at, (size_t)(scan->end - scan->at) - 1);
        scan->at = close != NULL ? close + 1 : scan->end;
        return;
    }
    while (scan->at < scan->end && !phl_html_is_blank(*scan->at) && *scan->at != '>') {
        scan->at++;
    }
}

/* Pass over attributes up to the end of the tag; tells how many, and whether it ends in "/>". */
static uint64_t pass_attributes(html_scan *scan, bool *closed)
{
    uint64_t count = 0;
    *closed = false;
    while (scan->at < scan->end && *scan->at != '>') {
        char c = *scan->at;
        if (phl_html_is_blank(c) || c == '/') {
            *closed = c == '/';
            scan->at++;
            continue;
        }
        *closed = false;
        count++;
        scan->at++; /* '=' may begin a name */
        while (scan->at < scan->end && !phl_html_is_blank(*scan->at) && *scan->at != '=' &&
               *scan->at != '>' && *scan->at != '/') {
            scan->at++;
        }
        while (scan->at < scan->end && phl_html_is_blank(*scan->at)) {
            scan->at++;
        }
        if (scan->at < scan->end && *scan->at == '=') {
            scan->at++;
            pass_value(scan);
        }
    }
    scan->at += scan->at < scan->end;
    return count;
}

/* Text up to the end tag of a raw element. */
static void pass_raw(html_scan *scan, const char *name, size_t length)
{
    while (scan->at < scan->end) {
        const char *open = memchr(scan->at, '<', (size_t)(scan->end - scan->at));
        if (open == NULL) {
            scan->at = scan->end;
            return;
        }
        scan->at = open + 1;
        size_t i = 0;
        if ((size_t)(scan->end - open) > length + 1 && open[1] == '/') {
            while (i < length && (open[2 + i] | 0x20) == (name[i] | 0x20)) {
                i++;
            }
            if (i == length) {
                scan->at = open;
                return;
            }
        }
    }
}

static phl_status check_attributes(html_scan *scan, const char *tag, GumboTag kind, uint64_t count)
{
    uint64_t cap = scan->reader->options->max_attributes;
    if (count > cap) {
        return phl_raise_at(scan->error, PHL_ERR_LIMIT, place_of(scan, tag),
                            "raise the cap with " PHL_OPTION_TO("read.max_attributes", ""),
                            "an element with %llu attributes, more than %llu",
                            (unsigned long long)count, (unsigned long long)cap);
    }
    scan->work += ATTRIBUTE_STEP * count * count / 2;
    if (kind == GUMBO_TAG_HTML || kind == GUMBO_TAG_BODY) {
        scan->root_attributes += count;
        scan->work += ATTRIBUTE_STEP * count * scan->root_attributes;
    }
    if ((traits(kind) & FORMATTING) != 0) {
        scan->work += ATTRIBUTE_STEP * count * scan->formatting;
    }
    return PHL_OK;
}

/* At a '<' with a letter, or a slash and a letter, behind it. */
static phl_status pass_tag(html_scan *scan)
{
    const char *tag = scan->at;
    bool end = tag[1] == '/';
    const char *name = tag + 1 + end;
    scan->at = name;
    while (scan->at < scan->end && !phl_html_is_blank(*scan->at) && *scan->at != '>' &&
           *scan->at != '/') {
        scan->at++;
    }
    size_t length = (size_t)(scan->at - name);
    GumboTag kind = length < 64 ? gumbo_tagn_enum(name, (unsigned)length) : GUMBO_TAG_UNKNOWN;
    const tag_name named = {kind, name, length};
    bool closed;
    uint64_t count = pass_attributes(scan, &closed);
    phl_status status = check_attributes(scan, tag, kind, count);
    if (status != PHL_OK) {
        return status;
    }
    if (end) {
        end_tag(scan, &named);
        return PHL_OK;
    }
    status = start_tag(scan, &named, closed);
    if (status == PHL_OK && (traits(kind) & RAW) != 0 && !scan->doubtful) {
        if (kind == GUMBO_TAG_PLAINTEXT) {
            scan->at = scan->end;
        } else {
            pass_raw(scan, name, length);
        }
    }
    return status;
}

static const char *find_text(const char *at, const char *end, const char *wanted, size_t length)
{
    while ((size_t)(end - at) >= length) {
        const char *found = memchr(at, wanted[0], (size_t)(end - at) - length + 1);
        if (found == NULL) {
            return NULL;
        }
        if (memcmp(found, wanted, length) == 0) {
            return found;
        }
        at = found + 1;
    }
    return NULL;
}

/* At "<!", "<?" or "</" without a name: passed over as a comment. */
static void pass_comment(html_scan *scan)
{
    size_t left = (size_t)(scan->end - scan->at);
    if (left >= 4 && memcmp(scan->at, "<!--", 4) == 0) {
        const char *end = find_text(scan->at + 2, scan->end, "-->", 3);
        const char *within = end != NULL ? end : scan->end;
        const char *other =
            within > scan->at + 4 ? find_text(scan->at + 4, within, "--!>", 4) : NULL;
        scan->at = other != NULL ? other + 4 : end != NULL ? end + 3 : scan->end;
        return;
    }
    const char *end = memchr(scan->at, '>', left);
    scan->at = end != NULL ? end + 1 : scan->end;
}

/* Text up to the next '<', which may be text itself. */
static void pass_text(html_scan *scan)
{
    const char *begin = scan->at;
    const char *next = memchr(begin + 1, '<', (size_t)(scan->end - begin) - 1);
    scan->at = next != NULL ? next : scan->end;
    if (scan->formatting > 0) {
        scan->work += (uint64_t)(scan->at - begin) * (scan->depth / STEPS_A_CHARACTER);
    }
}

static phl_status pass_all(html_scan *scan)
{
    phl_status status = PHL_OK;
    unsigned tags = 0;
    while (status == PHL_OK && scan->at < scan->end) {
        const char *begin = scan->at;
        char next = scan->end - begin > 1 ? begin[1] : ' ';
        if (*begin != '<') {
            pass_text(scan);
        } else if (is_letter(next) ||
                   (next == '/' && scan->end - begin > 2 && is_letter(begin[2]))) {
            status = pass_tag(scan);
        } else if (next == '!' || next == '?' || next == '/') {
            pass_comment(scan);
        } else {
            pass_text(scan);
        }
        if (status == PHL_OK && scan->work > scan->limit) {
            status = phl_raise_at(scan->error, PHL_ERR_LIMIT, place_of(scan, begin),
                                  "close the elements, for example with tidy",
                                  "too many elements that are not closed, or attributes: up to "
                                  "here the page would take too long to read");
        }
        if (status == PHL_OK && ++tags % 65536 == 0) {
            phl_reader asked = *scan->reader;
            status = phl_reader_check_cancel(&asked, scan->error);
        }
    }
    return status;
}

phl_status phl_html_scan(const phl_reader *reader, const char *text, size_t length,
                         phl_error *error)
{
    html_scan scan = {.reader = reader,
                      .error = error,
                      .text = text,
                      .at = text,
                      .end = text + length,
                      .limit = FREE_WORK + phl_times(length, WORK_A_BYTE)};
    phl_status status = pass_all(&scan);
    phl_free(scan.open);
    return status;
}
