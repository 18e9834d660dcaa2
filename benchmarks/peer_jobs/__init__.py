"""One job a mechanism for each library, every one written as that library's documentation has it.

A module here runs inside the virtual environment of its library, so it imports that library, numpy and
nothing else; `worker` measures it. A job is a function (values, cells, epsilon, threads) that makes the
client and the server and returns the work: a client's report for every value, then the server's estimate.
"""
