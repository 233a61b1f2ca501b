package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	minute     = int64(60_000) // in milliseconds, as everything here
	dayOfOrder = 60 * minute   // orders are made within it
)

// order is one record of topic orders; at is the time since the shop opened.
type order struct {
	id, user, item string
	amount, at     int64
}

// payment pays an order, perhaps too late to be joined with it.
type payment struct {
	order      string
	amount, at int64
}

// shop is the input of testdata/java/Streams.java, and what must come of it.
type shop struct {
	opened   int64 // unix milliseconds, a whole hour
	rand     *rand.Rand
	cities   map[string][2]string // of each user: in the first half hour, and in the second
	prices   map[string]int64
	orders   []order
	payments []payment
}

// newShop opened twelve hours ago, so that whatever closes windows later is not in the future either.
func newShop(seed uint64) *shop {
	s := &shop{opened: time.Now().Truncate(time.Hour).Add(-12 * time.Hour).UnixMilli(), rand: rand.New(rand.NewPCG(seed, 2)),
		cities: map[string][2]string{}, prices: map[string]int64{}}
	towns := []string{"Aachen", "Bergen", "Cork", "Delft", "Évora"}
	for n := range 40 {
		s.cities[fmt.Sprintf("user-%d", n)] = [2]string{towns[s.rand.IntN(5)], towns[s.rand.IntN(5)]}
	}
	for n := range 12 {
		s.prices[fmt.Sprintf("item-%d", n)] = 1 + s.rand.Int64N(99)
	}
	return s
}

func (s *shop) record(topic, key, value string, at int64) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value), Timestamp: time.UnixMilli(s.opened + at)}
}

// tables are the records of topics users and items, which are there before any order. They are in the order of their times:
// Streams looks no further than at the first record of each partition.
func (s *shop) tables() (all []*kgo.Record) {
	for half, at := range []int64{-minute, dayOfOrder/2 - 1} {
		for user, city := range s.cities {
			all = append(all, s.record("users", user, city[half], at))
		}
	}
	for item, price := range s.prices {
		all = append(all, s.record("items", item, strconv.FormatInt(price, 10), -minute))
	}
	return all
}

// sell makes n orders, not in the order of their times, and payments for most of them; it returns their records.
func (s *shop) sell(n int) (all []*kgo.Record) {
	for range n {
		o := order{fmt.Sprintf("order-%d", len(s.orders)), fmt.Sprintf("user-%d", s.rand.IntN(40)), fmt.Sprintf("item-%d", s.rand.IntN(12)),
			1 + s.rand.Int64N(9), 2 * s.rand.Int64N(dayOfOrder/2)}
		s.orders = append(s.orders, o)
		all = append(all, s.record("orders", o.id, fmt.Sprintf("%s,%s,%d", o.user, o.item, o.amount), o.at))
		var after []int64
		switch s.rand.IntN(10) {
		case 0: // never
		case 1: // too late
			after = []int64{minute + 1 + s.rand.Int64N(minute)}
		case 2: // in two parts
			after = []int64{s.rand.Int64N(minute), minute}
		default:
			after = []int64{s.rand.Int64N(minute + 1)}
		}
		for _, wait := range after {
			p := payment{o.id, 1 + s.rand.Int64N(999), o.at + wait}
			s.payments = append(s.payments, p)
			all = append(all, s.record("payments", p.order, strconv.FormatInt(p.amount, 10), p.at))
		}
	}
	return all
}

// tick are records six hours later, which close every window; their keys reach every partition.
func (s *shop) tick(n int64) (all []*kgo.Record) {
	for key := range 24 {
		id := fmt.Sprintf("tick-%d", key)
		all = append(all, s.record("orders", id, id+",item-0,1", 6*dayOfOrder+n), s.record("payments", id, "1", 6*dayOfOrder+n))
	}
	return all
}

// expected are the output topics of the application, computed from the input: "topic key value" in alphabetical order,
// times since the shop opened.
func (s *shop) expected() []string {
	var lines []string
	revenue, windows, paidBy := map[string][2]int64{}, map[string]int64{}, map[string]int64{}
	moments := map[string][]int64{}
	payments := map[string][]payment{}
	for _, p := range s.payments {
		payments[p.order] = append(payments[p.order], p)
	}
	for _, o := range s.orders {
		city := s.cities[o.user][o.at/(dayOfOrder/2)]
		for start := o.at - o.at%(5*minute); start > o.at-10*minute; start -= 5 * minute {
			key := fmt.Sprintf("%s@%d", city, start)
			r := revenue[key]
			revenue[key] = [2]int64{r[0] + 1, r[1] + o.amount*s.prices[o.item]}
		}
		windows[fmt.Sprintf("%s@%d", o.user, o.at-o.at%(5*minute))]++
		moments[o.user] = append(moments[o.user], o.at)
		for _, p := range payments[o.id] {
			if p.at-o.at <= minute {
				paidBy[o.user] += p.amount
				lines = append(lines, fmt.Sprintf("paid %s %s,%s,%d,%d", o.id, o.user, o.item, o.amount, p.amount))
			}
		}
	}
	for key, r := range revenue {
		lines = append(lines, fmt.Sprintf("revenue %s %d,%d", key, r[0], r[1]))
	}
	for key, n := range windows {
		lines = append(lines, fmt.Sprintf("final-counts %s %d", key, n))
	}
	for user, sum := range paidBy {
		lines = append(lines, fmt.Sprintf("paid-by-user %s %d", user, sum))
	}
	for user, at := range moments {
		lines = append(lines, sessions(user, at)...)
	}
	slices.Sort(lines)
	return lines
}

// sessions joins moments that are no more than two minutes apart.
func sessions(user string, at []int64) (lines []string) {
	slices.Sort(at)
	for first := 0; first < len(at); {
		last := first
		for last+1 < len(at) && at[last+1]-at[last] <= 2*minute {
			last++
		}
		lines = append(lines, fmt.Sprintf("sessions %s@%d-%d %d", user, at[first], at[last], last-first+1))
		first = last + 1
	}
	return lines
}
