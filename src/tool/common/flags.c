/* flags.c: reads words by the flag table. */
#include "common/flags.h"

#include <string.h>

static bool is_here(const gops_flag *flag, const gops_words *words)
{
    return (flag->verbs & words->verb) != 0 && (flag->operations & words->operation) != 0;
}

/* Of gops_settings.given. */
static uint64_t given_bit(const gops_flag *flag)
{
    return UINT64_C(1) << (flag - gops_flags);
}

static bool is_given(const gops_settings *settings, const gops_flag *flag)
{
    return (settings->given & given_bit(flag)) != 0;
}

/* The row with that name that is allowed here; else NULL. *elsewhere tells whether other verbs or
 * operations have a flag of that name. */
static const gops_flag *find_flag(const gops_words *words, const char *name, size_t length,
                                  bool *elsewhere)
{
    *elsewhere = false;
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if (strlen(flag->name) == length && memcmp(flag->name, name, length) == 0) {
            if (is_here(flag, words)) {
                return flag;
            }
            *elsewhere = true;
        }
    }
    return NULL;
}

static bool read_value(const gops_words *words, const gops_flag *flag, const char *value,
                       gops_settings *settings, gops_tool_error *error)
{
    void *field = (char *)settings + flag->offset;
    char why[GOPS_FLAG_WHY_BYTES];
    if (flag->read == NULL) {
        if (value != NULL) {
            return gops_tool_refuse(error, words->exit_code, "%s%s takes no value", words->dashes,
                                    flag->name);
        }
        *(bool *)field = true;
        return true;
    }
    if (value == NULL) {
        return gops_tool_refuse(error, words->exit_code, "%s%s needs a value: %s%s=%s",
                                words->dashes, flag->name, words->dashes, flag->name, flag->value);
    }
    if (!flag->read(flag, value, field, why)) {
        return gops_tool_refuse(error, words->exit_code, "%s%s=%.200s %s", words->dashes,
                                flag->name, value, why);
    }
    return true;
}

/* False where there is no place left for it. */
static bool take_file(const gops_words *words, const char *word)
{
    for (int i = 0; i < words->max_files; i++) {
        if (words->files[i] == NULL) {
            words->files[i] = word;
            return true;
        }
    }
    return false;
}

static bool read_word(const gops_words *words, const char *word, gops_settings *settings,
                      gops_tool_error *error)
{
    const size_t dashes = strlen(words->dashes);
    if (words->files != NULL && word[0] != '-' && take_file(words, word)) {
        return true;
    }
    if (strncmp(word, words->dashes, dashes) != 0) {
        return gops_tool_refuse(error, words->exit_code, "\"%.200s\" is not expected after %s",
                                word, words->place);
    }
    const char *name = word + dashes;
    const char *equals = strchr(name, '=');
    const size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    bool elsewhere;
    const gops_flag *flag = find_flag(words, name, length, &elsewhere);
    if (flag == NULL) {
        return gops_tool_refuse(error, words->exit_code, "%s%.*s %s %s", words->dashes,
                                (int)(length < 200 ? length : 200), name,
                                elsewhere ? "does not go with" : "is no flag of", words->place);
    }
    if (is_given(settings, flag) && (flag->operations & GOPS_FLAG_MANY) == 0) {
        return gops_tool_refuse(error, words->exit_code, "%s%s is given twice", words->dashes,
                                flag->name);
    }
    settings->given |= given_bit(flag);
    return read_value(words, flag, equals != NULL ? equals + 1 : NULL, settings, error);
}

/* A suite's lines may have the output-type that the command line does not give. */
static bool check_quantized(const gops_words *words, const gops_settings *settings,
                            gops_tool_error *error)
{
    const gops_flag *flag = gops_flags_quantized(settings);
    return flag == NULL || words->operation == GOPS_OF_SUITE ||
           gops_flags_given(settings, "output-type") ||
           gops_tool_refuse(error, words->exit_code,
                            "%s%s needs %soutput-type=TYPE: it is of quantized convolutions",
                            words->dashes, flag->name, words->dashes);
}

/* prelu and its slopes need each other; a suite's lines may have the one that is missing here, and
 * a normalization takes neither. */
static bool check_slopes(const gops_words *words, const gops_settings *settings,
                         gops_tool_error *error)
{
    const bool prelu = settings->activation.kind == GOPS_ACTIVATION_PRELU;
    const unsigned convolutions = GOPS_OF_CONV | GOPS_OF_DECONV;
    if ((words->operation & convolutions) == 0 || prelu == (settings->slopes != NULL)) {
        return true;
    }
    return prelu ? gops_tool_refuse(error, words->exit_code,
                                    "%sactivation=prelu needs %sslopes=NUMBER|FILE", words->dashes,
                                    words->dashes)
                 : gops_tool_refuse(error, words->exit_code, "%sslopes needs %sactivation=prelu",
                                    words->dashes, words->dashes);
}

/* Means and variances need each other. */
static bool check_moments(const gops_words *words, const gops_settings *settings,
                          gops_tool_error *error)
{
    const bool means = settings->means != NULL;
    return means == (settings->variances != NULL) ||
           gops_tool_refuse(error, words->exit_code, "%s%s needs %s%s=NUMBER|FILE", words->dashes,
                            means ? "means" : "variances", words->dashes,
                            means ? "variances" : "means");
}

bool gops_flags_read(const gops_words *words, gops_settings *settings, gops_tool_error *error)
{
    for (int i = 0; i < words->count; i++) {
        if (!read_word(words, words->words[i], settings, error)) {
            return false;
        }
    }
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if (is_here(flag, words) && (flag->required & words->operation) != 0 &&
            !is_given(settings, flag)) {
            return gops_tool_refuse(error, words->exit_code, "%s needs %s%s=%s", words->place,
                                    words->dashes, flag->name, flag->value);
        }
    }
    return check_quantized(words, settings, error) && check_slopes(words, settings, error) &&
           check_moments(words, settings, error);
}

bool gops_flags_given(const gops_settings *settings, const char *name)
{
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if (is_given(settings, flag) && strcmp(flag->name, name) == 0) {
            return true;
        }
    }
    return false;
}

const gops_flag *gops_flags_quantized(const gops_settings *settings)
{
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if (is_given(settings, flag) && (flag->operations & GOPS_FLAG_QUANTIZED) != 0) {
            return flag;
        }
    }
    return NULL;
}

void gops_flags_forget_quantized(gops_settings *settings)
{
    for (const gops_flag *flag; (flag = gops_flags_quantized(settings)) != NULL;) {
        settings->given &= ~given_bit(flag);
        memset((char *)settings + flag->offset, 0, flag->bytes);
    }
}

void gops_flags_override(gops_settings *settings, const gops_settings *over)
{
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if (is_given(over, flag) && (flag->verbs & GOPS_IN_LAYER) != 0) {
            memcpy((char *)settings + flag->offset, (const char *)over + flag->offset, flag->bytes);
            settings->given |= given_bit(flag);
        }
    }
}

const char *gops_flag_operations(const gops_flag *flag)
{
    static const struct {
        unsigned operations;
        const char *text;
    } texts[] = {
        {GOPS_OF_CONV | GOPS_OF_DECONV, "conv, deconv: "},
        {GOPS_OF_CONV | GOPS_OF_DECONV | GOPS_OF_SUITE, "conv, deconv, suites: "},
        {GOPS_OF_DECONV, "deconv: "},
        {GOPS_OF_NORM, "norm: "},
    };
    if ((flag->operations & GOPS_FLAG_QUANTIZED) != 0) {
        return "quantized: ";
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].operations == flag->operations) {
            return texts[i].text;
        }
    }
    return "";
}
