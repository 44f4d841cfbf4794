"""The studio: a web page on the owner's own machine in which the whole work is done."""
