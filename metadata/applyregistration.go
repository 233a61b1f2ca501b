package metadata

import "fmt"

// applyRegistration applies the records about brokers and controllers. The
// image keeps a registration as the RegisterBrokerRecord that would make it.
func (e *imageEdit) applyRegistration(r Record) error {
	e.ownSmallMaps()
	var err error
	switch r := r.(type) {
	case *RegisterBrokerRecord:
		e.next.brokers[r.BrokerID] = r
	case *UnregisterBrokerRecord:
		delete(e.next.brokers, r.BrokerID)
	case *FenceBrokerRecord:
		err = e.changeBroker(r.ID, r, func(b *RegisterBrokerRecord) { b.Fenced = true })
	case *UnfenceBrokerRecord:
		err = e.changeBroker(r.ID, r, func(b *RegisterBrokerRecord) { b.Fenced = false })
	case *BrokerRegistrationChangeRecord:
		err = e.changeBroker(r.BrokerID, r, r.change)
	case *RegisterControllerRecord:
		e.next.controllers[r.ControllerID] = r
	case *UnregisterControllerRecord:
		delete(e.next.controllers, r.ControllerID)
	}
	e.next.BrokerEpoch = -1
	if own, ok := e.next.brokers[e.next.NodeID]; ok {
		e.next.BrokerEpoch = own.BrokerEpoch
	}
	return err
}

func (e *imageEdit) changeBroker(id int32, r Record, change func(*RegisterBrokerRecord)) error {
	old, ok := e.next.brokers[id]
	if !ok {
		return fmt.Errorf("%w: %s record of broker %d, which is not registered", ErrMalformed, r.Key(), id)
	}
	b := *old
	change(&b)
	e.next.brokers[id] = &b
	return nil
}

func (r *BrokerRegistrationChangeRecord) change(b *RegisterBrokerRecord) {
	switch r.Fenced {
	case fencedYes:
		b.Fenced = true
	case fencedNo:
		b.Fenced = false
	}
	if r.InControlledShutdown == 1 {
		b.InControlledShutdown = true
	}
	if len(r.LogDirs) > 0 {
		b.LogDirs = r.LogDirs
	}
	if r.CordonedLogDirs != nil {
		b.CordonedLogDirs = r.CordonedLogDirs
	}
}
