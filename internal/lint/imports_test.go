package lint

import (
	"slices"
	"strings"
	"testing"
)

const module = "minibroker"

// layer says what a package may import beside the standard library, and how
// high it stands: tests may also import everything that stands lower.
type layer struct {
	height  int
	imports []string // paths inside the module; "." is its root
	foreign []string // modules or packages outside
}

const (
	kmsgPath    = "github.com/twmb/franz-go/pkg/kmsg"
	kerrPath    = "github.com/twmb/franz-go/pkg/kerr"
	kbinPath    = "github.com/twmb/franz-go/pkg/kbin"
	unixPath    = "golang.org/x/sys/unix"
	cobraPath   = "github.com/spf13/cobra"
	franzPath   = "github.com/twmb/franz-go/pkg"
	metricsPath = "github.com/VictoriaMetrics/metrics"
)

// layers is the import table: arrows point down only.
var layers = map[string]layer{
	"internal/vfs": {0, nil, []string{unixPath}},
	"record":       {1, nil, []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}},
	"protocol":     {1, nil, []string{kmsgPath, kbinPath, unixPath}},
	"config":       {1, []string{"internal/vfs"}, nil},
	"logstore":     {2, []string{"internal/vfs", "record"}, nil},
	"server":       {2, []string{"protocol", "quota", "meter"}, []string{unixPath}},
	"metadata":     {3, []string{"internal/vfs", "record", "logstore"}, nil},
	"partition":    {3, []string{"logstore", "record"}, nil},
	"cleaner":      {3, []string{"internal/vfs", "record", "logstore"}, nil},
	"group":        {4, []string{"record"}, []string{kmsgPath, kbinPath}},
	"telemetry":    {0, nil, nil},
	"meter":        {0, nil, nil},
	"quota":        {0, nil, []string{unixPath}},
	"fault":        {2, []string{"protocol"}, []string{kmsgPath}},
	"txn":          {4, []string{"record"}, []string{kmsgPath}},
	"handlers": {5, []string{"txn", "protocol", "partition", "metadata", "logstore", "config", "record", "group", "telemetry", "quota"},
		[]string{kmsgPath, kbinPath}},
	".": {6, []string{"txn", "internal/vfs", "record", "protocol", "config", "logstore", "server", "metadata",
		"partition", "handlers", "group", "cleaner", "quota", "telemetry", "fault", "meter"}, nil},
	"client":         {3, []string{"record"}, []string{kmsgPath, kerrPath}},
	"dump":           {3, []string{"internal/vfs", "record", "logstore"}, nil},
	"brokertest":     {7, []string{".", "logstore", "config", "fault", "internal/vfs"}, nil},
	"observe":        {7, []string{".", "meter", "fault", "protocol", "partition", "server"}, []string{kmsgPath, metricsPath}},
	"cmd/minibroker": {8, []string{".", "config", "logstore", "dump", "client", "record", "observe", "meter", "fault"}, []string{cobraPath, kmsgPath, kerrPath}},
	// Kafka's tools for containers: a client, so nothing of the broker's
	"cmd/kafkatools":   {7, nil, []string{franzPath}},
	"integration":      {9, nil, nil},
	"integration/wire": {7, nil, []string{kmsgPath, kbinPath, "github.com/twmb/franz-go/pkg/kerr"}},
	"examples/gotest":  {8, []string{"brokertest"}, nil}, // a module of its own
	"internal/lint":    {8, nil, nil},
	// what make test counts with
	"internal/testreport": {8, nil, nil},
	// runs the tests of others against a broker
	"suites": {8, nil, nil},
	// measures brokers from outside
	"bench":       {9, []string{"record"}, []string{franzPath, unixPath}},
	"bench/kfake": {0, nil, []string{franzPath}}, // a module of its own
}

func TestImports(t *testing.T) {
	apply(t, importRule)
}

func importRule(s *source) []finding {
	own, known := layers[s.dir]
	if !known {
		return []finding{s.find(s.ast.Name.Pos(), "package directory %q is not in the import table: give it a place "+
			"in internal/lint/imports_test.go, with what it may import", s.dir)}
	}
	var all []finding
	for _, spec := range s.ast.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if allowed(own, path, s.isTest()) {
			continue
		}
		all = append(all, s.find(spec.Pos(), "%s must not import %s: move the code to where both are known, "+
			"or declare a small interface here", s.dir, path))
	}
	return all
}

func allowed(own layer, path string, test bool) bool {
	first, _, _ := strings.Cut(path, "/")
	inside := first == module
	if !inside && !strings.Contains(first, ".") {
		return true // the standard library
	}
	if !inside {
		return test || slices.ContainsFunc(own.foreign, func(f string) bool {
			return path == f || strings.HasPrefix(path, f+"/")
		})
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if dir == "" {
		dir = "."
	}
	target, known := layers[dir]
	return slices.Contains(own.imports, dir) || test && known && target.height <= own.height
}

// TestTableIsLayered: the table itself must not contain an arrow that points up.
func TestTableIsLayered(t *testing.T) {
	for name, l := range layers {
		for _, to := range l.imports {
			if target, known := layers[to]; !known || target.height >= l.height {
				t.Errorf("%s (height %d) may not be allowed to import %s (height %d)", name, l.height, to, target.height)
			}
		}
	}
}
