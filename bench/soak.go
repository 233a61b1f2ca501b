package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// soakSettings make everything come round in minutes that takes days by default: what is deleted, compacted, forgotten or
// written anew is so many times during a soak.
func soakSettings() []string {
	return []string{
		"log.retention.check.interval.ms=10000", "log.cleaner.backoff.ms=1000", "log.segment.delete.delay.ms=1000",
		"offsets.topic.num.partitions=5", "transaction.state.log.num.partitions=5", "offsets.topic.segment.bytes=1048576", "transaction.state.log.segment.bytes=1048576",
		"offsets.retention.minutes=1", "offsets.retention.check.interval.ms=10000",
		"producer.id.expiration.ms=30000", "producer.id.expiration.check.interval.ms=10000",
		"metadata.log.max.snapshot.interval.ms=60000", "metadata.log.max.record.bytes.between.snapshots=1048576", "metadata.log.segment.bytes=8388608",
		"metadata.max.retention.ms=120000",
	}
}

// sample is what the broker is at one moment.
type sample map[string]float64

// series are the things that must not grow. What each may is a part of itself, and a little that is noise.
type series struct {
	name, unit string
	part       float64
	noise      float64
}

func soakSeries() []series {
	return []series{
		{"RSS", "MiB", 0.05, 2}, {"heap in use", "MiB", 0.10, 2}, {"goroutines", "", 0.05, 5}, {"open files", "", 0.05, 10}, {"disk", "MiB", 0.10, 5},
	}
}

// soak is a broker under all loads at once.
type soak struct {
	i       *instance
	begun   time.Time
	samples []sample
	load    *soakLoad
}

// soakCommand lets everything go on for a while, and fails where something grows.
func soakCommand(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	minutes := f.Float64("minutes", 30, "how long")
	every := f.Duration("every", 5*time.Second, "how long from one sample to the next")
	rate := f.Float64("rate", 1, "how many times the usual load, which takes about a fifth of a core")
	own := ownFlags(f, "soak", "result")
	save := f.String("samples", "", "write all samples to this file, as CSV")
	if err := f.Parse(args); err != nil {
		return err
	}
	bed, err := own.bed("soak")
	if err != nil {
		return err
	}
	defer bed.remove()
	s, err := newSoak(ctx, bed, *rate)
	if err != nil {
		return err
	}
	defer s.i.kill()
	about := fmt.Sprintf("%s, %s. minibroker is %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), bed.version())
	if err := s.run(ctx, time.Duration(*minutes*float64(time.Minute)), *every); err != nil {
		return err
	}
	text, verdict := s.report()
	if _, err := io.WriteString(out, about+text); err != nil {
		return err
	}
	return errors.Join(verdict, publish(*own.docs, "soak", about+text), s.save(*save))
}

// newSoak starts the broker, with its metrics.
func newSoak(ctx context.Context, bed *testBed, rate float64) (*soak, error) {
	p, err := bed.finder.peer(ctx, "minibroker")
	if err != nil {
		return nil, err
	}
	i, err := bed.place.instance(p, soakSettings())
	if err != nil {
		return nil, err
	}
	port, err := bed.place.ports()
	if err != nil {
		return nil, err
	}
	i.http = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := i.start(ctx); err != nil {
		return nil, err
	}
	return &soak{i: i, begun: time.Now(), load: &soakLoad{addr: i.addr(), rate: rate}}, nil
}

// run loads the broker and looks at it every so often. A load that fails, or stands still, ends it.
func (s *soak) run(ctx context.Context, lasts, every time.Duration) error {
	loading, end := context.WithCancel(ctx)
	defer end()
	if err := s.load.prepare(loading); err != nil {
		return err
	}
	failed := s.load.begin(loading)
	tick, over := time.NewTicker(every), time.After(lasts)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-over:
			done = true
		case <-tick.C:
			got, err := s.look(ctx)
			if err != nil {
				return err
			}
			s.samples = append(s.samples, got)
			if err := s.load.stalled(time.Minute); err != nil {
				return err
			}
		}
	}
	end()
	for err := range failed { // until all have ended
		if err != nil {
			return err
		}
	}
	return s.i.stop()
}

// look takes a sample.
func (s *soak) look(ctx context.Context) (sample, error) {
	u, err := s.i.usage()
	if err != nil {
		return nil, err
	}
	got := sample{"seconds": time.Since(s.begun).Seconds(), "RSS": u.rss, "peak RSS": u.peak, "open files": u.files, "threads": u.threads, "CPU": u.cpu.Seconds(), "client CPU": ownCPU().Seconds()}
	err = filepath.WalkDir(s.i.data(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a file that went meanwhile
		}
		if about, err := d.Info(); err == nil {
			got["disk"] += allocated(about) / (1 << 20)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return got, s.metrics(ctx, got)
}

// metrics adds what the broker tells of itself.
func (s *soak) metrics(ctx context.Context, to sample) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.i.http+"/metrics", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for name, metric := range map[string]string{"heap in use": "go_memstats_heap_inuse_bytes", "goroutines": "go_goroutines"} {
		_, rest, found := strings.Cut(string(raw), "\n"+metric+" ")
		value, _, _ := strings.Cut(rest, "\n")
		v, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			return fmt.Errorf("metric %s: %q", metric, value)
		}
		if strings.HasSuffix(metric, "_bytes") {
			v /= 1 << 20
		}
		to[name] = v
	}
	return nil
}

// thirds are the medians of the three parts of a series.
func thirds(samples []sample, name string) (parts [3]float64) {
	for k := range parts {
		var values []float64
		for _, s := range samples[k*len(samples)/3 : (k+1)*len(samples)/3] {
			values = append(values, s[name])
		}
		parts[k] = median(values)
	}
	return parts
}

// grew tells whether the last third lies above the middle one by more than a series may. The first is for warming up.
func (v series) grew(parts [3]float64) bool { return parts[2] > parts[1]*(1+v.part)+v.noise }

// report tells what was done and what each series was, and fails where one grew or memory was more than it may be.
func (s *soak) report() (string, error) {
	const least, most = 9, 64 // samples; MiB
	if len(s.samples) < least {
		return "", fmt.Errorf("%d samples are too few to tell whether something grows", len(s.samples))
	}
	var b strings.Builder
	var wrong []error
	last := s.samples[len(s.samples)-1]
	fmt.Fprintf(&b, "%.1f minutes, a sample every %.0f s; processor time of the broker %.1f %% of a core, of the clients %.1f %%. Done meanwhile: %s.\n\n", last["seconds"]/60,
		last["seconds"]/float64(len(s.samples)), 100*last["CPU"]/last["seconds"], 100*last["client CPU"]/last["seconds"], s.load.done())
	rows := [][]string{{"", "first third", "middle third", "last third", "most", "may grow by", ""}}
	for _, v := range soakSeries() {
		parts, highest := thirds(s.samples, v.name), 0.0
		for _, at := range s.samples {
			highest = max(highest, at[v.name])
		}
		mark := "does not grow"
		if v.grew(parts) {
			mark = "**grows**"
			wrong = append(wrong, fmt.Errorf("%s grows: %s in the middle third, %s in the last", v.name, show(parts[1]), show(parts[2])))
		}
		rows = append(rows, []string{strings.TrimSuffix(v.name+", "+v.unit, ", "), show(parts[0]), show(parts[1]), show(parts[2]), show(highest),
			fmt.Sprintf("%.0f %% and %s", 100*v.part, show(v.noise)), mark})
	}
	mark := "yes"
	if last["peak RSS"] > most {
		mark = "**no**"
		wrong = append(wrong, fmt.Errorf("%s MiB were resident at the most; %d MiB are allowed", show(last["peak RSS"]), most))
	}
	rows = append(rows, []string{"peak RSS, MiB", "", "", "", show(last["peak RSS"]), fmt.Sprintf("(at most %d)", most), mark})
	table(&b, rows)
	return b.String(), errors.Join(wrong...)
}

// save writes all samples.
func (s *soak) save(path string) error {
	if path == "" || len(s.samples) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(s.samples[0]))
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join(names, ","))
	for _, at := range s.samples {
		for k, name := range names {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(show(at[name]))
		}
		b.WriteByte('\n')
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
