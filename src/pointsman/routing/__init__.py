"""How a destination is chosen.

    strategies                             choose among the routes that matched
    translate                              makes another subject of a subject
    balance                                chooses one destination of several
    breaker                                keeps away from a destination that fails
    gather                                 asks several, and makes one result of their answers
    saga                                   follows a state machine for each correlation id

Everything here is pure: the clock and the random source are arguments, and state is a value that a runtime stores
(``as_data``) and gives back (``from_data``). A runtime that handles two messages at the same time puts a new state in
place only if the old one is still there; every function here can be called again with the one that it finds instead.
"""
