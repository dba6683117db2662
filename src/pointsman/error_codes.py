"""The catalogue of error codes: what each one means and what to do about it.

``docs/errors.md`` is written from it (``python scripts/error_page.py``), and a test holds the two together.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One code of the catalogue."""

    meaning: str
    help: str


CATALOGUE: dict[str, Entry] = {
    # Subjects and patterns
    "not-text": Entry(
        "A subject or a pattern is not a string.",
        "Pass a str; decode bytes as UTF-8 first.",
    ),
    "not-utf8": Entry(
        "The text holds a lone surrogate, which no broker can send.",
        "Decode the bytes it came from as UTF-8, and reject those that do not decode.",
    ),
    "empty": Entry(
        "The subject or pattern is empty and the dialect has no empty one.",
        "Give it at least one token.",
    ),
    "empty-token": Entry(
        "A token is empty (two separators together, or one at an end) and the dialect has no empty tokens.",
        "Remove the extra separator, or use a dialect with empty tokens (amqp, zato, mqtt).",
    ),
    "too-long": Entry(
        "The text is longer than the dialect allows.",
        "Shorten it; the limits are listed in docs/patterns.md.",
    ),
    "forbidden-character": Entry(
        "A character that the dialect does not allow in this place.",
        "Remove or replace the character; what each dialect allows is listed in docs/patterns.md.",
    ),
    "reserved-name": Entry(
        "The text contains a name that the dialect keeps for itself ('zato' or 'zpsk').",
        "Choose a name without it; the case of the letters does not matter.",
    ),
    "wildcard-in-subject": Entry(
        "A subject, which is sent, holds a wildcard, which only patterns may.",
        "Send to one exact subject, or use the text as a pattern.",
    ),
    "wildcard-not-alone": Entry(
        "In MQTT, '+' and '#' must stand alone in their level.",
        "Make the wildcard a level of its own, or remove it.",
    ),
    "wildcard-not-last": Entry(
        "A wildcard for many tokens stands before the end, where the dialect does not allow it.",
        "Move it to the end, or use the amqp or zato dialect, which allow it anywhere.",
    ),
    "foreign-wildcard": Entry(
        "A pattern holds a wildcard of another dialect, which is a literal in the dialect that it is read in.",
        "Choose the dialect explicitly, or write the wildcards of this one.",
    ),
    "unknown-dialect": Entry(
        "There is no dialect of that name.",
        "Use one of: nats, amqp, zato, mqtt.",
    ),
    "mixed-dialects": Entry(
        "Two patterns of different dialects cannot be compared.",
        "Convert one of them first: pattern.convert('…').",
    ),
    "intersection-too-large": Entry(
        "The intersection of the two patterns takes more patterns than the limit to write down.",
        "Use intersects(), which only asks whether there is one, or raise the limit.",
    ),
    "captures-mismatch": Entry(
        "The captures given do not fit the wildcards of the pattern.",
        "Pass what captures() returned: one text for a wildcard of one token, a tuple of tokens for one of many.",
    ),
    "cannot-carry": Entry(
        "The target dialect has no way to write this subject.",
        "Rename the subject, or keep it in its own dialect.",
    ),
    # Indexes
    "bad-index": Entry(
        "A file is not an index of this kind and version, or is damaged.",
        "Build the index again and save it; an index is never the only copy of anything.",
    ),
    "bad-ids": Entry(
        "There are not as many ids as patterns.",
        "Give one id for each pattern, or none at all.",
    ),
    "too-many-matches": Entry(
        "The matches are more than one Arrow list array can hold.",
        "Use match_batches, which has no such limit, or match fewer subjects at once.",
    ),
    # Templates
    "unknown-wildcard": Entry(
        "The template refers to a wildcard that its pattern does not have.",
        "Wildcards are numbered from 1, from left to right, in the pattern the template belongs to.",
    ),
    "unknown-function": Entry(
        "The template calls a function that does not exist.",
        "Use wildcard, partition, random, split, splitfromleft, splitfromright, slicefromleft, slicefromright, left"
        " or right.",
    ),
    "bad-arguments": Entry(
        "The arguments of a template function are missing, too many or of the wrong kind.",
        "docs/templates.md shows each function with its arguments.",
    ),
    "tail-mismatch": Entry(
        "Pattern and template do not both end in the wildcard for many tokens.",
        "End both with it, or neither.",
    ),
    "wildcard-in-template": Entry(
        "The template holds a bare wildcard; nothing says what it stands for.",
        "Write $1 or {{wildcard(1)}} for the first wildcard of the pattern.",
    ),
    "invalid-result": Entry(
        "What the template made of a subject is not a subject itself.",
        "Change the template so that no token comes out empty or with characters the dialect forbids.",
    ),
    # Naming standards
    "wrong-shape": Entry(
        "The subject does not have the number of tokens its naming standard asks for.",
        "Give one token for each field of the standard.",
    ),
    "unknown-word": Entry(
        "A field holds a word outside the vocabulary of its naming standard.",
        "Use a word of the vocabulary, or add the word to the standard.",
    ),
    "bad-standard": Entry(
        "A naming standard is declared wrongly.",
        "Give it at least one field; each needs a name of its own.",
    ),
    # Messages
    "bad-message": Entry(
        "The message lacks something it must have, or a part of it has the wrong type.",
        "docs/messages.md lists the fields and their types.",
    ),
    "bad-json": Entry(
        "A text that should be JSON is not.",
        "Correct the text at the place named.",
    ),
    "not-cloudevent": Entry(
        "The JSON is not a CloudEvent of version 1.0.",
        "A CloudEvent has specversion '1.0', id, source and type, all of them non-empty strings.",
    ),
    # Access rules
    "bad-access-line": Entry(
        "A line of access rules is not one.",
        "Write pub= or sub= and one pattern on each line: pub=orders.*",
    ),
    "bad-access-rules": Entry(
        "Access rules in plain data do not have the form they must have.",
        "Give lists of patterns under publish and subscribe, and the same under deny; docs/access.md shows it.",
    ),
    "duplicate-principal": Entry(
        "Two principals have the same name.",
        "Put the rules of both into one principal, or rename one.",
    ),
    "unknown-operation": Entry(
        "There is no operation of that name.",
        "Use publish or subscribe.",
    ),
    # Predicates and metadata conditions
    "bad-predicate": Entry(
        "The text is no SQL expression.",
        "Correct it at the column named; docs/predicates.md shows what a predicate looks like.",
    ),
    "predicate-construct": Entry(
        "The predicate uses a part of SQL that predicates do not have.",
        "docs/predicates.md lists all that they have; each comparison is of one field with one literal.",
    ),
    "predicate-literal": Entry(
        "A literal cannot be used in its place.",
        "docs/predicates.md says which literals there are and what each field compares with.",
    ),
    "unknown-field": Entry(
        "The predicate names a field that no message has.",
        "Use a field that docs/predicates.md lists; text is written in single quotes.",
    ),
    "predicate-too-long": Entry(
        "The text of the predicate, or the path of a field in it, is longer than the limit.",
        "Shorten it, or split it over several routes.",
    ),
    "predicate-too-deep": Entry(
        "Parentheses and NOT are nested deeper than the limit.",
        "Remove parentheses that change nothing, or split the predicate over several routes.",
    ),
    "bad-condition": Entry(
        "The data does not describe a metadata condition.",
        "Correct it at the place named; docs/conditions.md shows the form of each condition.",
    ),
    # Routing strategies
    "no-destinations": Entry(
        "There is no destination to choose from, or all of them have the weight 0.",
        "Name at least one destination with a weight above 0.",
    ),
    "bad-destinations": Entry(
        "Two destinations have one name, or one has a weight that is no whole number from 0.",
        "Give each destination a name of its own and a whole number as its weight.",
    ),
    "not-exact": Entry(
        "A direct route has a pattern with a wildcard.",
        "Write the exact subject, or choose another strategy for the route.",
    ),
    "no-key": Entry(
        "A sticky choice was asked for without a key.",
        "Say which part of the message is the key, and send no message without it.",
    ),
    "bad-setting": Entry(
        "A setting of a strategy is outside of what it may be.",
        "docs/strategies.md lists the settings of each strategy and their limits.",
    ),
    "bad-answer": Entry(
        "The answer to a scattered request is not a value that JSON can carry.",
        "Answer with texts, finite numbers, truth values, null, lists and objects.",
    ),
    "unknown-saga": Entry(
        "An event has the correlation id of no saga, and does not start one.",
        "Send the starting event first; check the correlation id; a saga that ended long ago is forgotten.",
    ),
    "bad-saga": Entry(
        "A saga is declared wrongly.",
        "Correct what the path in the message leads to; docs/strategies.md shows the form.",
    ),
    "bad-state": Entry(
        "Data that should hold the state of a strategy does not, or belongs to another one.",
        "Give back what as_data() gave; start anew if it is lost.",
    ),
    # Input from outside
    "no-file": Entry(
        "A file cannot be read.",
        "Check the name and the permissions.",
    ),
    "bad-case": Entry(
        "A conformance file holds something that is no case.",
        "docs/conformance.md shows the form of each kind of case.",
    ),
    "bad-usage": Entry(
        "A command or a function was called in a way it does not understand.",
        "See the command's --help, or the description of the function.",
    ),
    "missing-extra": Entry(
        "An optional part is not installed.",
        "Install the extra that the message names.",
    ),
    "no-java": Entry(
        "Spark needs Java 17 or 21 and none was found.",
        "Install one (Debian: openjdk-17-jre-headless) or set JAVA_HOME; the spark extra brings one for Linux, too.",
    ),
    # The routing table
    "bad-yaml": Entry(
        "The text is no YAML, or holds what is no plain data: a tag, a second document, a key twice, a large alias.",
        "Correct the place that is named; write out what an alias would repeat.",
    ),
    "yaml-limit": Entry(
        "The YAML is larger or deeper than what is read.",
        "Split it by include, or generate routes as subscriptions, of which there may be millions.",
    ),
    "bad-table": Entry(
        "A value of the routing table is not what stands there.",
        "`pointsman table schema` prints the shape; docs/table.md explains it.",
    ),
    "unknown-key": Entry(
        "The routing table holds a key that nothing reads.",
        "Correct its name, or remove it.",
    ),
    "missing-key": Entry(
        "The routing table lacks a key that is needed.",
        "Add it.",
    ),
    "duplicate-name": Entry(
        "Two routes, or two translations, have one name.",
        "Rename one of them; names are how environments, expectations and findings refer to them.",
    ),
    "bad-include": Entry(
        "A file that the routing table includes cannot be.",
        "Name a file in the folder of the table or below, relative to the file that includes it.",
    ),
    "bad-overlay": Entry(
        "An environment changes something that cannot be changed so.",
        "Name what is changed or removed as the table does.",
    ),
    "unknown-environment": Entry(
        "The routing table has no such environment.",
        "Use one of those under `environments`, or none.",
    ),
    "no-access": Entry(
        "The routing table has no access rules.",
        "Add a section `access`.",
    ),
    # Tools over routing tables
    "other-table": Entry(
        "A decision, or what was counted, belongs to another routing table.",
        "Use the table, and the environment, that the decisions were made with.",
    ),
    "no-such-entry": Entry(
        "The routing table has no route, or no saga, of that name.",
        "Check the name; `pointsman graph` without options shows what there is.",
    ),
    # The queue and the broker
    "bad-destination": Entry(
        "A destination has a type or an option that the broker or the pipeline does not have, or cannot be opened.",
        "docs/destinations.md lists the types with their options, docs/pipeline-run.md those of a pipeline.",
    ),
    "queue-full": Entry(
        "The queue holds as many unfinished messages as its maxsize allows.",
        "Wait until some are acknowledged, add consumers, or raise maxsize; nothing of the call was stored.",
    ),
    "too-large": Entry(
        "A message, or its metadata, is larger than the queue allows.",
        "Keep large contents elsewhere and send where they are, or raise max_bytes.",
    ),
    "bad-connection": Entry(
        "The connection given to outbox() is not apsw's, or is open on another file than the queue's.",
        "Use queue.transaction(), or open an apsw.Connection on the queue's path; sqlite3's connections lose messages.",
    ),
    "store-busy": Entry(
        "Another process has held the lock for writing longer than busy_timeout.",
        "See which process has the file open (it may be stopped), or raise busy_timeout; nothing was stored.",
    ),
    "disk-full": Entry(
        "There is no room for what was to be written.",
        "Make room on the disk, or prune and vacuum the queue; nothing of the call was stored.",
    ),
    "store-damaged": Entry(
        "The file is not a database, or SQLite finds it damaged.",
        "Run pointsman queue doctor on it; it says what is wrong and saves what can be read.",
    ),
    "store-not-opened": Entry(
        "The file cannot be opened for writing, or no file can be made beside it.",
        "Check that the folder exists, that the path is not a folder, and who may write to both.",
    ),
    "message-damaged": Entry(
        "A message is not what was put; the file was changed by something else than Pointsman.",
        "Run pointsman queue doctor on the file, and look at the disk that it is on.",
    ),
    "store-moved": Entry(
        "The queue's file was deleted, moved or replaced while it was open. Nothing was written.",
        "Put the file back with its log, or close the queue and open the one that is there now.",
    ),
    "store-linked": Entry(
        "The queue's file has several names (hard links), each of which would have a log of its own.",
        "Remove the other names (find DIR -samefile FILE), or make a copy, or a symbolic link.",
    ),
    "side-file-refused": Entry(
        "A file or folder beside the queue's (FILE-mark, FILE-bells) is a link, or of another kind.",
        "Remove it: the queue makes it anew, and never writes through a link that it did not make.",
    ),
    "store-lost-tail": Entry(
        "The mark beside the file says that more was committed than the file holds.",
        "Run pointsman queue doctor: it says what is missing. With --repair it takes the file as it is.",
    ),
    "store-newer": Entry(
        "The file was written by a newer version of Pointsman.",
        "Use at least the version that wrote it; this one leaves the file as it is.",
    ),
    "store-foreign": Entry(
        "The file is an SQLite database that is not Pointsman's.",
        "Give another path, or take over its messages with pointsman queue import.",
    ),
    "store-closed": Entry(
        "The queue was closed.",
        "Open it again.",
    ),
    "store-nested": Entry(
        "The queue was called within a transaction of its own, by the same thread, which would wait for itself.",
        "Put messages through the outbox that the transaction gives, and call the queue before or after it.",
    ),
    "store-failed": Entry(
        "SQLite could not do it.",
        "The message says why; nothing of the call was stored.",
    ),
    "store-mismatch": Entry(
        "The file was made with other settings than it is opened with.",
        "Open it with the settings it was made with, or leave them out.",
    ),
    "publish-refused": Entry(
        "A message may not be published: access does not allow it.",
        "The message says which rule decided; pointsman access explain tells more.",
    ),
    "subscribe-refused": Entry(
        "A principal may read nothing of what it subscribes to.",
        "The message says which rule decided; pointsman access explain tells more.",
    ),
    "endless-saga": Entry(
        "More messages follow from one than may, through sagas and gathered answers.",
        "Look for a saga whose commands are its own events: pointsman check, pointsman graph.",
    ),
    "unknown-destination": Entry(
        "The routing table names a destination that it does not declare.",
        "Declare it under destinations, or correct the name. A table that declares none may name them freely.",
    ),
    "function-not-given": Entry(
        "The routing table names a Python function that the program did not give.",
        "Pass functions={name: function} to RoutingTable.load or Broker.",
    ),
    "function-on-spark": Entry(
        "The routing table names a Python function, which a pipeline on Spark cannot call.",
        "Say it with a predicate, a template or a named aggregation, or run the table in a Broker.",
    ),
    "reply-refused": Entry(
        "A message asks for a reply at a subject that its principal may not publish to.",
        "Use broker.request, which has an inbox of its own, or name a subject that the principal may publish to.",
    ),
    "no-responders": Entry(
        "A request reached nobody: no route, subscription or destination takes its subject.",
        "Correct the subject, or start the handler first.",
    ),
    "bad-secret": Entry(
        "A secret that an option refers to cannot be read.",
        "Set the environment variable, or correct the path after file:.",
    ),
    "no-destination": Entry(
        "The routing table has no destination of that name, or of that type.",
        "Name it under destinations in the table, or correct the name.",
    ),
    "no-subscription": Entry(
        "The queue has no durable subscription of that name.",
        "List them with queue.subscriptions(), or make it with queue.subscribe().",
    ),
    "subscription-differs": Entry(
        "There is a durable subscription of that name with another pattern.",
        "Choose another name, or unsubscribe the old one first, which drops what waits in it.",
    ),
    "bad-receipt": Entry(
        "A text that should be the receipt of a leased message is none.",
        "Give what pointsman queue pop --lease has printed, the whole of it.",
    ),
    "no-output": Entry(
        "The standard output is closed, or what it goes to has no room.",
        "See where the output is sent to. A message that could not be printed can be taken again at once.",
    ),
    # Taking over the messages of another queue
    "source-not-queue": Entry(
        "The file to import is no SQLite database, or has no table of messages as MiniQ and litequeue make them.",
        "Check the path, and the name given with --table.",
    ),
    "source-tables": Entry(
        "The database to import has several tables of messages.",
        "Say which one with --table, and import one after the other.",
    ),
    "source-locked": Entry(
        "The database to import is locked, or a change of it was not ended.",
        "Stop the program that uses it. If none does, open it once with that program, which ends or undoes the change.",
    ),
    "source-damaged": Entry(
        "The database to import is cut off or damaged; what was read before that is taken over.",
        "Repair a copy of it (sqlite3 FILE .recover), and import that into a new queue.",
    ),
    "source-changed": Entry(
        "The database to import was written to, or messages that were taken over before are no longer in it.",
        "Stop the program that uses it. If messages were deleted from it meanwhile, import it into a new queue.",
    ),
    # Wildcard subscriptions
    "bad-subscription": Entry(
        "A wildcard subscription lacks something it must have, or a field of it cannot be used.",
        "Correct the field that is named; docs/subscriptions.md lists the fields and their limits.",
    ),
    "no-wildcard-subscription": Entry(
        "There is no wildcard subscription of that id.",
        "Check the id; pointsman subscriptions list shows those that there are.",
    ),
    "subscription-exists": Entry(
        "There is a wildcard subscription of that id already.",
        "Update it instead, or choose another id; nothing of the call was stored.",
    ),
    # The pipeline
    "java-ended": Entry(
        "The Java process of Spark has ended, or does not answer.",
        "Run the command again: it goes on where it stopped. If it ends again, look for what ended it: mostly memory.",
    ),
    "spark-failed": Entry(
        "Spark refused what it was asked, or broke off.",
        "What Spark says is in the message; check the format, its options and the files.",
    ),
    "folder-exists": Entry(
        "There is something already where a new folder is to be.",
        "Name another folder, or say --overwrite.",
    ),
    "uneven-batch": Entry(
        "The messages that were delivered, quarantined and unrouted do not add up to those that were read.",
        "Nothing was kept. Run it again when nobody changes the messages; if it happens again, report it.",
    ),
    "query-failed": Entry(
        "A query of the pipeline ended with an error of Spark.",
        "The message names the cause; after it is removed, the same command goes on where the pipeline stopped.",
    ),
    "unreadable-file": Entry(
        "A file of a pipeline's source cannot be read to its end, such as a compressed one that was cut off.",
        "Nothing of it was delivered. Put it right, and add it to the source under another name.",
    ),
    "queue-elsewhere": Entry(
        "A task of Spark cannot reach the file of the queue, or what another task has left: it is on another host.",
        "Run the tasks that read the queue on its host; for writing, let 'staging' name a folder that all hosts share.",
    ),
    "checkpoint-in-use": Entry(
        "Another run of the pipeline has the same checkpoint.",
        "Stop the other run, or give this pipeline a checkpoint of its own. One that was killed is waited for.",
    ),
    "classic-session-needed": Entry(
        "Spark Connect cannot do this.",
        "Use a session without spark.remote and without SPARK_REMOTE. The stages, route and deliver work on both.",
    ),
    "checkpoint-incomplete": Entry(
        "A part of a pipeline's checkpoint is missing.",
        "Restore the whole checkpoint from one copy. To start over, remove the checkpoint and the folders that the"
        " pipeline writes to.",
    ),
    "folder-taken": Entry(
        "A folder that a pipeline writes to holds batches of another run.",
        "Name another folder, or remove this one. To start a pipeline over, remove its checkpoint and the folders that"
        " it writes to.",
    ),
    "folder-elsewhere": Entry(
        "A folder that the driver of Spark and its workers must share is not the same one for both.",
        "Name a folder of a file system that is mounted on all hosts at the same path, and that both may write to.",
    ),
    "stream-taken": Entry(
        "Another query streams the same subscription since, with a checkpoint of its own.",
        "Give each query a subscription of its own, or stop the other one and begin with a new checkpoint.",
    ),
    "stream-behind": Entry(
        "The checkpoint of a query is older than what the queue has acknowledged for it.",
        "Use the query's latest checkpoint; or bring the messages back with queue.replay() and begin with a new one.",
    ),
}
