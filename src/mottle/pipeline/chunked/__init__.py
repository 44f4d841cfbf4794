"""Code that streaming and Spark share: the plan of chunks, their publication and measurements."""
