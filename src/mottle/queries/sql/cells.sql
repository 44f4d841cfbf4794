-- DuckDB macros that read the text cells of release.csv; read the file with all columns as text:
--
--     CREATE TABLE release AS FROM read_csv('release.csv', all_varchar = true);
--     SELECT count(*) FROM release WHERE cell_contains(sex, 'female');
--     SELECT avg(cell_width(age)) FROM release;
--
-- A cell is a value (28), a range (28..39), or members between braces ({Divorced|Widowed}), the
-- last of which is empty if the value may be missing ({28..39|}). NULL, or an empty cell, is a
-- missing value. In values, a backslash stands before \ { | } and before dots that would look like
-- those of a range; \e is the empty text. The name of a hierarchy node is a value. An apostrophe
-- before text that begins like a formula does not belong to it.

-- The text that an escaped value stands for.
CREATE OR REPLACE MACRO cell_value(written) AS
    CASE WHEN written = '\e' THEN ''
        ELSE regexp_replace(written, '\\(.)', '\1', 'gs') END;

-- A cell without the apostrophe that keeps spreadsheets from running it as a formula.
CREATE OR REPLACE MACRO cell_unguarded(cell) AS
    regexp_replace(cell, '^''(''*[=+@\t\r\n＝＋－＠-])', '\1');

-- The members of a cell as they are written; '' where the value may be missing.
CREATE OR REPLACE MACRO cell_written(cell) AS
    CASE WHEN cell IS NULL OR cell = '' THEN ['']
        WHEN starts_with(cell, '{') AND ends_with(cell, '}') THEN regexp_extract_all(
            substr(cell, 2, length(cell) - 2) || '|', '((?:[^\\|]|\\.)*)\|', 1, 's')
        ELSE [cell_unguarded(cell)] END;

-- Whether a written member is a range, and its two ends.
CREATE OR REPLACE MACRO member_is_range(written) AS
    regexp_matches(written, '^(?:[^\\]|\\.)*?\.\.', 's');
CREATE OR REPLACE MACRO member_lo(written) AS
    CASE WHEN written = '' THEN NULL
        WHEN member_is_range(written)
        THEN cell_value(regexp_extract(written, '^((?:[^\\]|\\.)*?)\.\.(.*)$', 1, 's'))
        ELSE cell_value(written) END;
CREATE OR REPLACE MACRO member_hi(written) AS
    CASE WHEN written = '' THEN NULL
        WHEN member_is_range(written)
        THEN cell_value(regexp_extract(written, '^((?:[^\\]|\\.)*?)\.\.(.*)$', 2, 's'))
        ELSE cell_value(written) END;

-- Whether the value may be missing.
CREATE OR REPLACE MACRO cell_missing(cell) AS list_contains(cell_written(cell), '');

-- The lowest and the highest value of a range, as text; NULL if the cell has several members.
CREATE OR REPLACE MACRO cell_lo(cell) AS
    CASE WHEN len(list_filter(cell_written(cell), lambda one: one <> '')) = 1
        THEN member_lo(cell_written(cell)[1]) END;
CREATE OR REPLACE MACRO cell_hi(cell) AS
    CASE WHEN len(list_filter(cell_written(cell), lambda one: one <> '')) = 1
        THEN member_hi(cell_written(cell)[1]) END;

-- The members of a set as text, NULL for missing; of a range, its two ends.
CREATE OR REPLACE MACRO cell_members(cell) AS
    flatten(list_transform(cell_written(cell), lambda one: CASE
        WHEN member_is_range(one) THEN [member_lo(one), member_hi(one)]
        ELSE [member_lo(one)] END));

-- How many values a set lists, missing included.
CREATE OR REPLACE MACRO cell_size(cell) AS len(cell_written(cell));

-- The width of a range of numbers, or in days; 0 for a single value, NULL for others.
CREATE OR REPLACE MACRO cell_width(cell) AS
    CASE WHEN TRY_CAST(cell_lo(cell) AS DOUBLE) IS NOT NULL
        THEN TRY_CAST(cell_hi(cell) AS DOUBLE) - TRY_CAST(cell_lo(cell) AS DOUBLE)
        ELSE CAST(TRY_CAST(cell_hi(cell) AS DATE) - TRY_CAST(cell_lo(cell) AS DATE) AS DOUBLE) END;

-- Whether a value may be behind a cell: equal to a member, or a number or date within its range.
CREATE OR REPLACE MACRO member_contains(written, value) AS
    CASE WHEN written = '' THEN false
        WHEN NOT member_is_range(written) THEN cell_value(written) = value
            OR coalesce(TRY_CAST(cell_value(written) AS DOUBLE) = TRY_CAST(value AS DOUBLE), false)
        WHEN TRY_CAST(member_lo(written) AS DOUBLE) IS NOT NULL
        THEN coalesce(TRY_CAST(value AS DOUBLE)
            BETWEEN TRY_CAST(member_lo(written) AS DOUBLE)
            AND TRY_CAST(member_hi(written) AS DOUBLE), false)
        ELSE coalesce(TRY_CAST(value AS DATE)
            BETWEEN TRY_CAST(member_lo(written) AS DATE)
            AND TRY_CAST(member_hi(written) AS DATE), false) END;
CREATE OR REPLACE MACRO cell_contains(cell, value) AS
    CASE WHEN value IS NULL THEN cell_missing(cell)
        ELSE len(list_filter(cell_written(cell),
            lambda one: member_contains(one, CAST(value AS VARCHAR)))) > 0 END;
