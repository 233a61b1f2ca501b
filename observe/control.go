package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"minibroker"
	"minibroker/fault"
)

// maxRuleBytes bounds the JSON of a rule.
const maxRuleBytes = 64 << 10

// Control answers
//
//	GET    /faults           the rules in force, with how often each was met
//	POST   /faults           puts a rule in force
//	DELETE /faults           removes all rules
//	DELETE /faults/{id}      removes one
//	POST   /retention        removes at once what retention no longer keeps
//	POST   /compact/{topic}  compacts a topic at once
//
// Who reaches it can make the broker useless, so it has a port of its own.
type Control struct {
	mux    *http.ServeMux
	faults *fault.Set
	broker *minibroker.Broker
}

// NewControl makes the control of a broker that was opened with these faults.
func NewControl(b *minibroker.Broker, faults *fault.Set) *Control {
	c := &Control{mux: http.NewServeMux(), faults: faults, broker: b}
	c.mux.HandleFunc("GET /faults", c.list)
	c.mux.HandleFunc("POST /faults", c.add)
	c.mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		c.faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	c.mux.HandleFunc("DELETE /faults/{id}", c.remove)
	c.mux.HandleFunc("POST /retention", func(w http.ResponseWriter, r *http.Request) { done(w, c.broker.RunRetention(r.Context())) })
	c.mux.HandleFunc("POST /compact/{topic}", func(w http.ResponseWriter, r *http.Request) {
		done(w, c.broker.Compact(r.Context(), r.PathValue("topic")))
	})
	return c
}

// ServeHTTP answers one request.
func (c *Control) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// ruleJSON is a rule as it is written; see fault.Rule. ID and Count are told only.
type ruleJSON struct {
	ID        int64     `json:"id,omitempty"`
	Count     *int      `json:"count,omitempty"`
	API       string    `json:"api,omitempty"`
	Topic     string    `json:"topic,omitempty"`
	Partition *int32    `json:"partition,omitempty"`
	ClientID  string    `json:"client_id,omitempty"`
	Error     errorJSON `json:"error,omitempty"`
	DelayMs   int64     `json:"delay_ms,omitempty"`
	Drop      bool      `json:"drop,omitempty"`
	After     bool      `json:"after,omitempty"`
	Times     int       `json:"times,omitempty"`
}

// errorJSON is the name of an error, or its number.
type errorJSON string

// UnmarshalJSON reads a string or a number.
func (e *errorJSON) UnmarshalJSON(data []byte) error {
	var number int16
	if err := json.Unmarshal(data, &number); err == nil {
		*e = errorJSON(strconv.Itoa(int(number)))
		return nil
	}
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return errors.New("error: want the name of an error of Kafka's, or its number")
	}
	*e = errorJSON(name)
	return nil
}

func (r *ruleJSON) rule() (fault.Rule, error) {
	// Of what does not fit into a duration the longest delay is made, which the check refuses.
	const most = int64(1<<63-1) / int64(time.Millisecond)
	rule := fault.Rule{
		API: r.API, Topic: r.Topic, Partition: r.Partition, ClientID: r.ClientID, Error: string(r.Error),
		Delay: time.Duration(max(min(r.DelayMs, most), -most)) * time.Millisecond, Drop: r.Drop, After: r.After, Times: r.Times,
	}
	if r.ID != 0 || r.Count != nil {
		return rule, errors.New("id and count are told, not given")
	}
	return rule, nil
}

func told(a *fault.Active) ruleJSON {
	r, count := a.Rule(), a.Count()
	return ruleJSON{
		ID: a.ID(), Count: &count, API: r.API, Topic: r.Topic, Partition: r.Partition, ClientID: r.ClientID, Error: errorJSON(r.Error),
		DelayMs: r.Delay.Milliseconds(), Drop: r.Drop, After: r.After, Times: r.Times,
	}
}

func (c *Control) list(w http.ResponseWriter, _ *http.Request) {
	all := []ruleJSON{}
	for _, a := range c.faults.List() {
		all = append(all, told(a))
	}
	answer(w, http.StatusOK, all)
}

func (c *Control) add(w http.ResponseWriter, r *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRuleBytes))
	decoder.DisallowUnknownFields()
	var given ruleJSON
	if err := decoder.Decode(&given); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf(`the body is no rule, such as {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 1}: %w`, err))
		return
	}
	rule, err := given.rule()
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	active, err := c.faults.Add(rule)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	answer(w, http.StatusCreated, told(active))
}

func (c *Control) remove(w http.ResponseWriter, r *http.Request) {
	for _, a := range c.faults.List() {
		if strconv.FormatInt(a.ID(), 10) == r.PathValue("id") {
			a.Remove()
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	refuse(w, http.StatusNotFound, fmt.Errorf("there is no fault %s: GET /faults lists them", r.PathValue("id")))
}

// done answers with nothing, or with what went wrong.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func refuse(w http.ResponseWriter, status int, err error) {
	answer(w, status, struct {
		Error string `json:"error"`
	}{err.Error()})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that went away needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}
