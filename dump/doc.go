// Package dump shows what is in the files of a log dir, in the lines that Kafka's kafka-dump-log.sh prints, or as JSON, an object a
// line. It reads files of any kind, whoever wrote them, also while a broker has them in use, and changes nothing.
//
// The records that Kafka keeps its own state in (metadata, groups, transactions, share groups, consumer protocol) are read by
// schemas.txt, a table of their layouts, and printed field by field: nothing of what is in the file is left out, and kinds that this
// broker does not serve itself are shown too.
package dump
