package config

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// noticeLogger is the logger under which Kafka speaks about settings.
const noticeLogger = "kafka.server.KafkaConfig"

// clusterOnly are settings that are about other nodes, next to those that begin with one of clusterPrefixes.
var clusterOnly = [...]string{
	"process.roles", "num.replica.fetchers", "num.replica.alter.log.dirs.threads", "broker.heartbeat.interval.ms", "broker.session.timeout.ms",
	"initial.broker.registration.timeout.ms", "controlled.shutdown.enable", "auto.leader.rebalance.enable",
	"leader.imbalance.check.interval.seconds", "unclean.leader.election.enable", "unclean.leader.election.interval.ms",
	"security.inter.broker.protocol", "sasl.mechanism.inter.broker.protocol", "sasl.mechanism.controller.protocol",
	"follower.fetch.last.tiered.offset.enable", "early.start.listeners",
}

var clusterPrefixes = [...]string{"controller.", "inter.broker.", "replica.", "replication.quota.", "alter.log.dirs."}

// authorizers read these, the broker's own table does not have them.
var authorizerSettings = [...]string{"allow.everyone.if.no.acl.found", "super.users"}

func isClusterOnly(name string) bool {
	if name == "replica.high.watermark.checkpoint.interval.ms" {
		return false
	}
	return slices.Contains(clusterOnly[:], name) ||
		slices.ContainsFunc(clusterPrefixes[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// notices says what of the given settings is not as it would be on another broker. oldID says that broker.id was given.
func (b *Broker) notices(oldID bool) []Notice {
	var list []Notice
	say := func(level slog.Level, format string, args ...any) {
		list = append(list, Notice{Level: level, Logger: noticeLogger, Text: fmt.Sprintf(format, args...)})
	}
	if oldID {
		say(slog.LevelWarn, "The 'broker.id' configuration is deprecated and will be removed in Apache Kafka 5.0. Please use 'node.id' instead.")
	}
	var cluster []string
	for _, name := range b.givenNames() {
		if findBroker(name) != nil && isClusterOnly(name) {
			cluster = append(cluster, name)
		}
	}
	if cluster != nil {
		say(slog.LevelInfo, "One node is broker and controller in one and replicates to nobody, so these settings have no effect: %s", strings.Join(cluster, ", "))
	}
	for _, name := range onlyOne {
		if b.Long(name) > 1 {
			say(slog.LevelWarn, "%s: %s=%s needs more brokers than this one; 1 is used", b.given[name].Source, name, b.given[name].Value)
		}
	}
	for _, name := range [...]string{"default.replication.factor", "min.insync.replicas"} {
		if b.Explicit(name) && b.Long(name) > 1 {
			say(slog.LevelWarn, "%s: %s=%s needs more brokers than this one, so %s", b.given[name].Source, name, b.given[name].Value, tooMany(name))
			list[len(list)-1].Remedy = "set " + name + "=1"
		}
	}
	for _, name := range b.givenNames() {
		if findBrokerOrPrefixed(name) == nil && !slices.Contains(authorizerSettings[:], name) {
			say(slog.LevelWarn, "%s: unknown setting %s is ignored%s", b.given[name].Source, name, didYouMean(name))
			list[len(list)-1].Remedy = remedyFor(name)
		}
	}
	for _, name := range b.givenNames() {
		if s := findBroker(name); s != nil && s.typ == TypeClass && b.String(name) != "" && b.String(name) != s.def {
			say(slog.LevelWarn, "%s: %s names a Java class, which this broker cannot load; it is ignored", b.given[name].Source, name)
		}
	}
	if b.String(authorizerClass) != "" {
		say(slog.LevelWarn, "%s: %s is ignored, everyone may do everything", b.given[authorizerClass].Source, authorizerClass)
	}
	return list
}

// tooMany is what comes of a number of replicas that one node cannot hold.
func tooMany(name string) string {
	if name == "min.insync.replicas" {
		return "writes with acks=all are refused"
	}
	return "topics that do not name their own number of replicas cannot be created"
}

// remedyFor is what to do about an unknown setting.
func remedyFor(name string) string {
	if near := Nearest(name); near != "" {
		return "write " + near + ", or remove it"
	}
	return "remove it, or look its name up: minibroker check-config lists all that there are"
}

// didYouMean points at the setting that was probably meant.
func didYouMean(name string) string {
	if near := Nearest(name); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

const authorizerClass = "authorizer.class.name"

// checkServed refuses what would look like a working setting and is none: a secured listener that is not secured, access
// rules that are not enforced, data that would go to another place.
func (b *Broker) checkServed() *Error {
	if err := b.checkUnsecured(); err != nil {
		return err
	}
	if b.String(authorizerClass) != "" && !strings.EqualFold(trim(b.given["allow.everyone.if.no.acl.found"].Value), "true") {
		return refuse(authorizerClass, "%s asks for access rules, which this broker does not enforce yet; remove it, or set "+
			"allow.everyone.if.no.acl.found=true to go without", authorizerClass)
	}
	const tiered = "remote.log.storage.system.enable"
	if b.Bool(tiered) {
		return refuse(tiered, "%s=true needs a remote storage plug-in written in Java, which this broker cannot load", tiered)
	}
	return nil
}

// checkUnsecured refuses listeners that would not be secured as they should be.
func (b *Broker) checkUnsecured() *Error {
	for _, l := range b.listeners {
		if !l.IsController && l.Protocol != "PLAINTEXT" {
			return refuse("listeners", "listener %s uses the security protocol %s, which this broker does not serve yet; only PLAINTEXT is served", l.Name, l.Protocol)
		}
	}
	return nil
}
