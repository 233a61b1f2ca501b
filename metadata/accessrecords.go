package metadata

import "minibroker/logstore"

// AccessControlEntryRecord allows or denies something. The numbers are those
// of the wire protocol.
//
//	field           type    since
//	Id              uuid    0
//	ResourceType    int8    0      2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user
//	ResourceName    string  0
//	PatternType     int8    0      3 literal, 4 prefixed
//	Principal       string  0
//	Host            string  0
//	Operation       int8    0      2 all, 3 read, 4 write, …
//	PermissionType  int8    0      2 deny, 3 allow
type AccessControlEntryRecord struct {
	ID             logstore.UUID
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
	Unknown        []Tag
}

// Key is KeyAccessControlEntry.
func (*AccessControlEntryRecord) Key() RecordKey { return KeyAccessControlEntry }

func (r *AccessControlEntryRecord) code(c *coder) {
	c.uuid(&r.ID)
	c.int8(&r.ResourceType)
	c.string(&r.ResourceName)
	c.int8(&r.PatternType)
	c.string(&r.Principal)
	c.string(&r.Host)
	c.int8(&r.Operation)
	c.int8(&r.PermissionType)
	c.tags(&r.Unknown)
}

// RemoveAccessControlEntryRecord removes an access control entry.
//
//	field  type  since
//	Id     uuid  0
type RemoveAccessControlEntryRecord struct {
	ID      logstore.UUID
	Unknown []Tag
}

// Key is KeyRemoveAccessControlEntry.
func (*RemoveAccessControlEntryRecord) Key() RecordKey { return KeyRemoveAccessControlEntry }

func (r *RemoveAccessControlEntryRecord) code(c *coder) {
	c.uuid(&r.ID)
	c.tags(&r.Unknown)
}

// UserScramCredentialRecord sets a user's credential for one mechanism.
//
//	field       type    since
//	Name        string  0
//	Mechanism   int8    0      1 SCRAM-SHA-256, 2 SCRAM-SHA-512
//	Salt        bytes   0
//	StoredKey   bytes   0
//	ServerKey   bytes   0
//	Iterations  int32   0
type UserScramCredentialRecord struct {
	Name       string
	Mechanism  int8
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
	Unknown    []Tag
}

// Key is KeyUserScramCredential.
func (*UserScramCredentialRecord) Key() RecordKey { return KeyUserScramCredential }

func (r *UserScramCredentialRecord) code(c *coder) {
	c.string(&r.Name)
	c.int8(&r.Mechanism)
	c.bytes(&r.Salt)
	c.bytes(&r.StoredKey)
	c.bytes(&r.ServerKey)
	c.int32(&r.Iterations)
	c.tags(&r.Unknown)
}

// RemoveUserScramCredentialRecord removes a user's credential.
//
//	field      type    since
//	Name       string  0
//	Mechanism  int8    0
type RemoveUserScramCredentialRecord struct {
	Name      string
	Mechanism int8
	Unknown   []Tag
}

// Key is KeyRemoveUserScramCredential.
func (*RemoveUserScramCredentialRecord) Key() RecordKey { return KeyRemoveUserScramCredential }

func (r *RemoveUserScramCredentialRecord) code(c *coder) {
	c.string(&r.Name)
	c.int8(&r.Mechanism)
	c.tags(&r.Unknown)
}

// DelegationTokenRecord creates or renews a token. Its secret is not stored:
// it follows from the id and the cluster's secret key. Times are ms.
//
//	field                type      since
//	Owner                string    0
//	Requester            string    0
//	Renewers             []string  0
//	IssueTimestamp       int64     0
//	MaxTimestamp         int64     0
//	ExpirationTimestamp  int64     0
//	TokenId              string    0
type DelegationTokenRecord struct {
	Owner               string
	Requester           string
	Renewers            []string
	IssueTimestamp      int64
	MaxTimestamp        int64
	ExpirationTimestamp int64
	TokenID             string
	Unknown             []Tag
}

// Key is KeyDelegationToken.
func (*DelegationTokenRecord) Key() RecordKey { return KeyDelegationToken }

func (r *DelegationTokenRecord) code(c *coder) {
	c.string(&r.Owner)
	c.string(&r.Requester)
	c.strings(&r.Renewers)
	c.int64(&r.IssueTimestamp)
	c.int64(&r.MaxTimestamp)
	c.int64(&r.ExpirationTimestamp)
	c.string(&r.TokenID)
	c.tags(&r.Unknown)
}

// RemoveDelegationTokenRecord removes a token.
//
//	field    type    since
//	TokenId  string  0
type RemoveDelegationTokenRecord struct {
	TokenID string
	Unknown []Tag
}

// Key is KeyRemoveDelegationToken.
func (*RemoveDelegationTokenRecord) Key() RecordKey { return KeyRemoveDelegationToken }

func (r *RemoveDelegationTokenRecord) code(c *coder) {
	c.string(&r.TokenID)
	c.tags(&r.Unknown)
}
