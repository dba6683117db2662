"""The durable queue as a data source of Spark: ``spark.read``, ``readStream``, ``write`` and ``writeStream``.

    source           the class that Spark knows
    registering      how it comes to know it
    options          what the user can say
    place            whether a process is on the host of the file
    rows             from stored messages to Arrow record batches
    reading          spark.read
    wanted           which messages a pattern is about
    subscribed       which subscription is read, and how it is made
    ranges           how what is read is split among tasks
    stream_reading   spark.readStream: offsets and partitions
    standing         how far a stream has come
    admission        what a stream does to the file: takes deliveries, ends them, gives up damaged ones
    releasing        ending a stream for good
    drafts           from Arrow record batches to what is put
    staging          what tasks have written and the driver has not yet taken up
    committing       how the driver puts it into the queue, exactly once
    writing          spark.write and spark.writeStream

Only ``source``, ``reading``, ``stream_reading`` and ``writing`` import Spark; they are imported when it is used.
"""
