"""Files of other programs: spreadsheets and statistics packages.

Their parsers are compiled code that was not written for damaged or hostile files, so a file is read
in a process of its own (`child`, `worker`), which has limits on memory and time and hands back Arrow
batches; these are validated like those of any other file.
"""
