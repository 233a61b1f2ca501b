package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func configsGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "entity-type", "entity-name", "add-config", "delete-config", "topic", "broker", "group", "add-config-file"},
		plain:  []string{"alter", "describe", "entity-default", "broker-defaults", "all", "force", "help", "version"},
	}
}

// entity is what kafka-configs describes or alters.
type entity struct {
	kind  kmsg.ConfigResourceType
	noun  string
	names []string // "" is the default of all
}

// runConfigs is kafka-configs, for topics, groups and brokers.
func runConfigs(ctx context.Context, args []string, c console) int {
	g := configsGrammar()
	a, err := g.parse(args)
	if err != nil {
		return c.wrong(g, err)
	}
	if a.has("alter") == a.has("describe") {
		return c.wrong(g, errors.New("Command must include exactly one action: --describe, --alter"))
	}
	e, err := a.entity()
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	do := describeEntity
	if a.has("alter") {
		do = alterEntity
	}
	if err := do(ctx, client, e, a, c); err != nil {
		fmt.Fprintf(c.err, "Error while executing config command with args '%s'\n%v\n", strings.Join(args, " "), err)
		return 1
	}
	return 0
}

func (a arguments) entity() (entity, error) {
	kinds := map[string]entity{
		"topics":  {kind: kmsg.ConfigResourceTypeTopic, noun: "topic"},
		"brokers": {kind: kmsg.ConfigResourceTypeBroker, noun: "broker"},
		"groups":  {kind: kmsg.ConfigResourceType(32), noun: "group"},
	}
	for option, kind := range map[string]string{"topic": "topics", "broker": "brokers", "group": "groups"} {
		if a.has(option) {
			e := kinds[kind]
			e.names = a.values[option]
			return e, nil
		}
	}
	if a.has("broker-defaults") {
		e := kinds["brokers"]
		e.names = []string{""}
		return e, nil
	}
	e, found := kinds[a.one("entity-type")]
	if !found {
		return e, fmt.Errorf("--entity-type %s: one of topics, groups, brokers; for the others use the tool of an Apache Kafka distribution", a.one("entity-type"))
	}
	e.names = a.values["entity-name"]
	if a.has("entity-default") {
		e.names = []string{""}
	}
	if a.has("alter") && len(e.names) == 0 {
		return e, errors.New("An entity name must be specified with --alter of " + a.one("entity-type"))
	}
	return e, nil
}

// describeConfigs asks for the settings of resources of one kind, by name.
func describeConfigs(ctx context.Context, client *kgo.Client, kind kmsg.ConfigResourceType, names ...string) (map[string][]kmsg.DescribeConfigsResponseResourceConfig, error) {
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.IncludeSynonyms = true
	for _, name := range names {
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kind, name
		request.Resources = append(request.Resources, resource)
	}
	answer, err := ask[*kmsg.DescribeConfigsResponse](ctx, client, request)
	if err != nil {
		return nil, err
	}
	all := map[string][]kmsg.DescribeConfigsResponseResourceConfig{}
	for _, r := range answer.Resources {
		if err := answerError(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
		all[r.ResourceName] = r.Configs
	}
	return all, nil
}

func describeEntity(ctx context.Context, client *kgo.Client, e entity, a arguments, c console) error {
	if len(e.names) == 0 {
		answer, err := metadata(ctx, client)
		if err != nil {
			return err
		}
		switch e.kind {
		case kmsg.ConfigResourceTypeTopic:
			for _, t := range answer.Topics {
				e.names = append(e.names, *t.Topic)
			}
		case kmsg.ConfigResourceTypeBroker:
			for _, b := range answer.Brokers {
				e.names = append(e.names, fmt.Sprint(b.NodeID))
			}
			e.names = append(e.names, "")
		}
	}
	sort.Strings(e.names)
	for _, name := range e.names {
		all, err := describeConfigs(ctx, client, e.kind, name)
		if err != nil {
			return err
		}
		of := fmt.Sprintf("Dynamic configs for %s %s are:", e.noun, name)
		if name == "" {
			of = fmt.Sprintf("Default configs for %ss in the cluster are:", e.noun)
		}
		if a.has("all") {
			of = fmt.Sprintf("All configs for %s %s are:", e.noun, name)
		}
		fmt.Fprintln(c.out, of)
		for _, config := range all[name] {
			if a.has("all") || dynamic(e.kind, name, config.Source) {
				printConfig(config, c)
			}
		}
	}
	return nil
}

// dynamic says whether a setting from this source belongs to the resource itself.
func dynamic(kind kmsg.ConfigResourceType, name string, source kmsg.ConfigSource) bool {
	switch {
	case kind == kmsg.ConfigResourceTypeTopic:
		return source == kmsg.ConfigSourceDynamicTopicConfig
	case kind == kmsg.ConfigResourceTypeBroker && name == "":
		return source == kmsg.ConfigSourceDynamicDefaultBrokerConfig
	case kind == kmsg.ConfigResourceTypeBroker:
		return source == kmsg.ConfigSourceDynamicBrokerConfig
	}
	return source != kmsg.ConfigSourceDefaultConfig && source != kmsg.ConfigSourceStaticBrokerConfig
}

func printConfig(config kmsg.DescribeConfigsResponseResourceConfig, c console) {
	synonyms := make([]string, len(config.ConfigSynonyms))
	for i, s := range config.ConfigSynonyms {
		synonyms[i] = fmt.Sprintf("%s:%s=%s", s.Source, s.Name, orNull(s.Value))
	}
	fmt.Fprintf(c.out, "  %s=%s sensitive=%t synonyms={%s}\n", config.Name, orNull(config.Value), config.IsSensitive, strings.Join(synonyms, ", "))
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func alterEntity(ctx context.Context, client *kgo.Client, e entity, a arguments, c console) error {
	changes, err := pairs(a.values["add-config"])
	if err != nil {
		return err
	}
	for _, name := range e.names {
		resource := kmsg.NewIncrementalAlterConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = e.kind, name
		for _, pair := range changes {
			config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			config.Name, config.Op, config.Value = pair[0], kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(pair[1])
			resource.Configs = append(resource.Configs, config)
		}
		for _, key := range strings.FieldsFunc(strings.Join(a.values["delete-config"], ","), func(r rune) bool { return r == ',' }) {
			config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			config.Name, config.Op = strings.TrimSpace(key), kmsg.IncrementalAlterConfigOpDelete
			resource.Configs = append(resource.Configs, config)
		}
		if len(resource.Configs) == 0 {
			return errors.New("At least one of --add-config and --delete-config must be specified with --alter")
		}
		request := kmsg.NewPtrIncrementalAlterConfigsRequest()
		request.Resources = append(request.Resources, resource)
		answer, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, client, request)
		if err != nil {
			return err
		}
		for _, r := range answer.Resources {
			if err := answerError(r.ErrorCode, r.ErrorMessage); err != nil {
				return err
			}
		}
		if name == "" {
			fmt.Fprintf(c.out, "Completed updating default config for %ss in the cluster.\n", e.noun)
		} else {
			fmt.Fprintf(c.out, "Completed updating config for %s %s.\n", e.noun, name)
		}
	}
	return nil
}
