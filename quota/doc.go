// Package quota measures what clients use against the limits that are set for
// users and client ids, and says for how long a client has to wait. The
// arithmetic is Kafka's: rates over a window of samples that slides by whole
// samples, and a bucket of tokens for changes of topics.
package quota
