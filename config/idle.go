package config

import (
	"slices"
	"strings"
)

// idle are the settings of Kafka's that nothing here reads: they are checked, shown and kept, and change nothing. internal/lint sees
// to it that none of them is read.
var idle = [...]string{
	"add.partitions.to.txn.retry.backoff.max.ms", "add.partitions.to.txn.retry.backoff.ms", "alter.config.policy.class.name",
	"alter.log.dirs.replication.quota.window.num", "alter.log.dirs.replication.quota.window.size.seconds",
	"auto.leader.rebalance.enable", "broker.heartbeat.interval.ms", "broker.session.timeout.ms", "client.quota.callback.class",
	"config.providers", "connection.failed.authentication.delay.ms", "connections.max.reauth.ms", "controlled.shutdown.enable",
	"controller.performance.always.log.threshold.ms", "controller.performance.sample.period.ms",
	"controller.quorum.append.linger.ms", "controller.quorum.auto.join.enable", "controller.quorum.bootstrap.servers",
	"controller.quorum.election.backoff.max.ms", "controller.quorum.election.timeout.ms", "controller.quorum.fetch.max.bytes",
	"controller.quorum.fetch.snapshot.max.bytes", "controller.quorum.fetch.timeout.ms", "controller.quorum.request.timeout.ms",
	"controller.quorum.retry.backoff.ms", "controller.quota.window.num", "controller.quota.window.size.seconds",
	"controller.socket.timeout.ms", "create.topic.policy.class.name", "delegation.token.expiry.check.interval.ms",
	"delegation.token.expiry.time.ms", "delegation.token.max.lifetime.ms", "delegation.token.secret.key",
	"delete.records.purgatory.purge.interval.requests", "early.start.listeners", "errors.deadletterqueue.auto.create.topics.enable",
	"errors.deadletterqueue.topic.name.prefix", "fetch.purgatory.purge.interval.requests",
	"follower.fetch.last.tiered.offset.enable", "follower.replication.throttled.rate", "group.coordinator.append.linger.ms",
	"group.coordinator.background.threads", "group.coordinator.cached.buffer.max.bytes", "group.coordinator.threads",
	"group.share.dlq.manager.class.name", "group.share.initialize.retry.interval.ms", "group.share.persister.class.name",
	"group.streams.max.size", "group.streams.topology.description.plugin.class", "initial.broker.registration.timeout.ms",
	"internal.metadata.delete.delay.millis", "internal.metadata.log.segment.bytes", "internal.metadata.max.batch.size.in.bytes",
	"kafka.metrics.polling.interval.secs", "kafka.metrics.reporters", "leader.imbalance.check.interval.seconds",
	"leader.replication.throttled.rate", "log.dir.failure.timeout.ms", "metadata.max.idle.interval.ms", "metric.reporters",
	"metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "offsets.commit.timeout.ms",
	"offsets.load.buffer.size", "principal.builder.class", "producer.purgatory.purge.interval.requests",
	"queued.max.requests", "remote.fetch.max.wait.ms", "remote.list.offsets.request.timeout.ms",
	"remote.log.index.file.cache.total.size.bytes", "remote.log.index.file.cache.ttl.ms",
	"remote.log.manager.copier.thread.pool.size", "remote.log.manager.copy.max.bytes.per.second",
	"remote.log.manager.copy.quota.window.num", "remote.log.manager.copy.quota.window.size.seconds",
	"remote.log.manager.expiration.thread.pool.size", "remote.log.manager.fetch.max.bytes.per.second",
	"remote.log.manager.fetch.quota.window.num", "remote.log.manager.fetch.quota.window.size.seconds",
	"remote.log.manager.follower.thread.pool.size", "remote.log.manager.task.interval.ms",
	"remote.log.manager.task.retry.backoff.max.ms", "remote.log.manager.task.retry.backoff.ms",
	"remote.log.manager.task.retry.jitter", "remote.log.manager.thread.pool.size", "remote.log.metadata.custom.metadata.max.bytes",
	"remote.log.metadata.manager.class.name", "remote.log.metadata.manager.class.path", "remote.log.metadata.manager.impl.prefix",
	"remote.log.metadata.manager.listener.name", "remote.log.reader.max.pending.tasks", "remote.log.reader.threads",
	"remote.log.storage.manager.class.name", "remote.log.storage.manager.class.path", "remote.log.storage.manager.impl.prefix",
	"replica.fetch.backoff.ms", "replica.fetch.max.bytes", "replica.fetch.min.bytes", "replica.fetch.response.max.bytes",
	"replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "replica.selector.class", "replica.socket.receive.buffer.bytes",
	"replica.socket.timeout.ms", "replication.quota.window.num", "replication.quota.window.size.seconds", "request.timeout.ms",
	"sasl.client.callback.handler.class", "sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.kerberos.kinit.cmd",
	"sasl.kerberos.min.time.before.relogin", "sasl.kerberos.principal.to.local.rules", "sasl.kerberos.service.name",
	"sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor", "sasl.login.callback.handler.class",
	"sasl.login.class", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.refresh.buffer.seconds",
	"sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter",
	"sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms", "sasl.mechanism.controller.protocol",
	"sasl.mechanism.inter.broker.protocol", "sasl.oauthbearer.allow.unverified.audience",
	"sasl.oauthbearer.allow.unverified.issuer", "sasl.oauthbearer.assertion.algorithm", "sasl.oauthbearer.assertion.claim.aud",
	"sasl.oauthbearer.assertion.claim.exp.seconds", "sasl.oauthbearer.assertion.claim.iss",
	"sasl.oauthbearer.assertion.claim.jti.include", "sasl.oauthbearer.assertion.claim.nbf.seconds",
	"sasl.oauthbearer.assertion.claim.sub", "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file",
	"sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.assertion.template.file",
	"sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
	"sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer",
	"sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
	"sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwt.retriever.class",
	"sasl.oauthbearer.jwt.validator.class", "sasl.oauthbearer.scope", "sasl.oauthbearer.scope.claim.name",
	"sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.token.endpoint.url", "sasl.server.callback.handler.class",
	"sasl.server.max.receive.size", "security.providers", "server.max.startup.time.ms", "share.coordinator.append.linger.ms",
	"share.coordinator.cached.buffer.max.bytes", "share.coordinator.cold.partition.snapshot.interval.ms",
	"share.coordinator.load.buffer.size", "share.coordinator.snapshot.update.records.per.snapshot",
	"share.coordinator.state.topic.compression.codec", "share.coordinator.state.topic.prune.interval.ms",
	"share.coordinator.threads", "share.coordinator.write.timeout.ms", "share.fetch.purgatory.purge.interval.requests",
	"socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms", "socket.listen.backlog.size",
	"ssl.allow.dn.changes", "ssl.allow.san.changes", "ssl.cipher.suites", "ssl.client.auth", "ssl.enabled.protocols",
	"ssl.endpoint.identification.algorithm", "ssl.engine.factory.class", "ssl.keymanager.algorithm", "ssl.principal.mapping.rules",
	"ssl.protocol", "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
	"transaction.state.log.load.buffer.size", "unclean.leader.election.interval.ms", "unstable.api.versions.enable",
	"unstable.feature.versions.enable",
}

// Idle is the reason of a setting that is known and that nothing depends on.
const Idle = "nothing in this broker depends on it"

// NoEffect tells why a setting of a broker changes nothing here; "" when it does something.
func NoEffect(name string) string {
	s := findBrokerOrPrefixed(name)
	switch {
	case s == nil && slices.Contains(authorizerSettings[:], name):
		return ""
	case s == nil:
		return "Kafka 4.4.0 has no such setting"
	case isClusterOnly(s.name):
		return "it is about other nodes, and there are none"
	case slices.Contains(onlyOne[:], s.name):
		return "one node holds one replica, so it is 1"
	case s.typ == TypeClass:
		return "it names a Java class, which this broker cannot load"
	case slices.Contains(idle[:], s.name):
		return Idle
	}
	return ""
}

// Nearest is the setting whose name is most like an unknown one; "" when none is near.
func Nearest(name string) string {
	best, distance := "", 1+len(name)/4
	for i := range brokerSettings {
		if d := editDistance(name, brokerSettings[i].name, distance); d < distance {
			best, distance = brokerSettings[i].name, d
		}
	}
	return best
}

// editDistance counts the letters to change, add or drop between two names; limit or more where there are so many.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			if a[i] != b[j] {
				before = 1 + min(before, above, row[j])
			}
			row[j+1], before = before, above
		}
	}
	return row[len(b)]
}
