"""Files of other programs: spreadsheets and statistics packages.

Their parsers are compiled code that was not written for damaged or hostile files. So a file is read
in a process of its own (`child`, `worker`) with limits on memory and time. It hands back Arrow
batches, which are validated like those of any other file.
"""
