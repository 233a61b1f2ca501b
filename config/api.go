package config

import "log/slog"

type Type int8

const (
	TypeUnknown Type = iota
	TypeBoolean
	TypeString
	TypeInt
	TypeShort
	TypeLong
	TypeDouble
	TypeList
	TypeClass
	TypePassword
)

type Source int8

const (
	SourceUnknown Source = iota
	SourceTopic
	SourceDynamicBroker
	SourceDynamicDefaultBroker
	SourceStaticBroker
	SourceDefault
	SourceBrokerLogger
	SourceClientMetrics
	SourceGroup
)

type Property struct{ Key, Value, Source string }

type Notice struct {
	Level  slog.Level
	Logger string
	Text   string
}

type Broker struct{}

type Listener struct {
	Name           string
	Host           string
	Port           int
	Protocol       string
	AdvertisedHost string
	AdvertisedPort int
	IsController   bool
}

func ReadFile(path string) ([]Property, error)          { panic("soon") }
func Parse(props []Property) (*Broker, []Notice, error) { panic("soon") }
func (b *Broker) Int(name string) int                   { panic("soon") }
func (b *Broker) Long(name string) int64                { panic("soon") }
func (b *Broker) Double(name string) float64            { panic("soon") }
func (b *Broker) Bool(name string) bool                 { panic("soon") }
func (b *Broker) String(name string) string             { panic("soon") }
func (b *Broker) List(name string) []string             { panic("soon") }
func (b *Broker) Explicit(name string) bool             { panic("soon") }
func (b *Broker) NodeID() int32                         { panic("soon") }
func (b *Broker) LogDirs() []string                     { panic("soon") }
func (b *Broker) MetadataLogDir() string                { panic("soon") }
func (b *Broker) Listeners() []Listener                 { panic("soon") }

// Layers: effective settings.
type Layers struct {
	Static         *Broker
	ClusterDefault map[string]string
	Node           map[string]string
}

// effective broker settings, dynamic ones included
func (l Layers) Int(name string) int        { panic("soon") }
func (l Layers) Long(name string) int64     { panic("soon") }
func (l Layers) Double(name string) float64 { panic("soon") }
func (l Layers) Bool(name string) bool      { panic("soon") }
func (l Layers) String(name string) string  { panic("soon") }
func (l Layers) List(name string) []string  { panic("soon") }

func (l Layers) Topic(overrides map[string]string) TopicSettings { panic("soon") }

// Describe...: every setting, sorted by name. DescribeBroker(true): this node; false: the cluster default "".
func (l Layers) DescribeTopic(overrides map[string]string) []Entry         { panic("soon") }
func (l Layers) DescribeBroker(node bool) []Entry                          { panic("soon") }
func (l Layers) DescribeGroup(overrides map[string]string) []Entry         { panic("soon") }
func (l Layers) DescribeClientMetrics(overrides map[string]string) []Entry { panic("soon") }

// one setting by itself
func ValidateTopic(name, value string) error                  { panic("soon") }
func ValidateBroker(name, value string, perBroker bool) error { panic("soon") }

// Check...: the whole set that would apply after a change, cross-checks included (what create-topics and alter-configs call)
func (l Layers) CheckTopic(overrides map[string]string) error { panic("soon") }

// CheckBroker: configs are all dynamic settings of this node (perBroker) or of the cluster default as they would be after the change
func (l Layers) CheckBroker(configs map[string]string, perBroker bool) error { panic("soon") }
func (l Layers) CheckGroup(overrides map[string]string) error                { panic("soon") }
func (l Layers) CheckClientMetrics(overrides map[string]string) error        { panic("soon") }

// TopicType / BrokerType: for APPEND and SUBTRACT, which are for lists only; false when unknown.
func TopicType(name string) (Type, bool)  { panic("soon") }
func BrokerType(name string) (Type, bool) { panic("soon") }

// TopicDefault / BrokerDefault: Kafka's code default, as APPEND starts from it.
func TopicDefault(name string) (string, bool)  { panic("soon") }
func BrokerDefault(name string) (string, bool) { panic("soon") }

type Entry struct {
	Name      string
	Value     *string
	Type      Type
	Source    Source
	ReadOnly  bool
	Sensitive bool
	IsDefault bool
	Synonyms  []Synonym
	Doc       string
}

type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

type TopicSettings struct {
	SegmentBytes          int
	SegmentMs             int64
	SegmentJitterMs       int64
	IndexBytes            int
	IndexIntervalBytes    int
	Preallocate           bool
	FlushMessages         int64
	FlushMs               int64
	RetentionBytes        int64
	RetentionMs           int64
	FileDeleteDelayMs     int64
	Compact               bool
	Delete                bool
	DeleteRetentionMs     int64
	MinCompactionLagMs    int64
	MaxCompactionLagMs    int64
	MinCleanableRatio     float64
	MaxMessageBytes       int
	MaxDecompressedBytes  int
	TimestampType         string // "CreateTime", "LogAppendTime"
	TimestampBeforeMaxMs  int64
	TimestampAfterMaxMs   int64
	CompressionType       string // "producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"
	CompressionLevel      int    // of CompressionType; 0 where it has none
	UncleanLeaderElection bool
	MinInsyncReplicas     int
}
