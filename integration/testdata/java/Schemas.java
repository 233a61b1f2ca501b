import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Prints the layout of every record that Kafka keeps its own state in, a line for each kind and range of versions, from the message
 * classes: "family id name versions [flexible] fields". Fields come in the order in which Kafka prints them, each as name:type,
 * name:type? for one that may be null, name@tag:type=default for a tagged one; [...] is an array and (...) a structure.
 */
public class Schemas {
    public static void main(String[] args) throws Exception {
        for (MetadataRecordType type : MetadataRecordType.values()) {
            print("metadata", type.id(), type.name(), type.newMetadataRecord());
        }
        for (org.apache.kafka.coordinator.group.generated.CoordinatorRecordType type :
                org.apache.kafka.coordinator.group.generated.CoordinatorRecordType.values()) {
            print("group-key", type.id(), type.name(), type.newRecordKey());
            print("group-value", type.id(), type.name(), type.newRecordValue());
        }
        for (org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordType type :
                org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordType.values()) {
            print("transaction-key", type.id(), type.name(), type.newRecordKey());
            print("transaction-value", type.id(), type.name(), type.newRecordValue());
        }
        for (org.apache.kafka.coordinator.share.generated.CoordinatorRecordType type :
                org.apache.kafka.coordinator.share.generated.CoordinatorRecordType.values()) {
            print("share-key", type.id(), type.name(), type.newRecordKey());
            print("share-value", type.id(), type.name(), type.newRecordValue());
        }
        print("control", 2, "LEADER_CHANGE", new LeaderChangeMessage());
        print("control", 3, "SNAPSHOT_HEADER", new SnapshotHeaderRecord());
        print("control", 4, "SNAPSHOT_FOOTER", new SnapshotFooterRecord());
        print("control", 5, "KRAFT_VERSION", new KRaftVersionRecord());
        print("control", 6, "KRAFT_VOTERS", new VotersRecord());
        print("consumer", 0, "SUBSCRIPTION", new ConsumerProtocolSubscription());
        print("consumer", 1, "ASSIGNMENT", new ConsumerProtocolAssignment());
    }

    static void print(String family, int id, String name, ApiMessage message) throws Exception {
        Schema[] schemas = (Schema[]) message.getClass().getField("SCHEMAS").get(null);
        String last = null;
        int first = 0;
        for (int v = message.lowestSupportedVersion(); v <= message.highestSupportedVersion() + 1; v++) {
            String text = v > message.highestSupportedVersion() ? null : layout(schemas[v], message.getClass());
            if (last != null && !last.equals(text)) {
                String versions = first == v - 1 ? "" + first : first + "-" + (v - 1);
                System.out.println((family + " " + id + " " + name + " " + versions + " " + last).trim());
            }
            if (!(last != null && last.equals(text))) {
                first = v;
            }
            last = text;
        }
    }

    static boolean flexible(Schema schema) {
        for (var field : schema.fields()) {
            if (field.def.type instanceof TaggedFields) {
                return true;
            }
        }
        return false;
    }

    static String layout(Schema schema, Class<?> of) throws Exception {
        return (flexible(schema) ? "flexible " : "") + fields(schema, of);
    }

    static String fields(Schema schema, Class<?> of) throws Exception {
        Map<Integer, org.apache.kafka.common.protocol.types.Field> tagged = Map.of();
        for (var field : schema.fields()) {
            if (field.def.type instanceof TaggedFields t) {
                tagged = t.fields();
            }
        }
        Object fresh = of.getDeclaredConstructor().newInstance();
        List<String> out = new ArrayList<>();
        List<String> plain = new ArrayList<>();
        for (Field f : of.getDeclaredFields()) {
            if (Modifier.isStatic(f.getModifiers()) || f.getName().equals("_unknownTaggedFields") || f.getName().equals("next")
                    || f.getName().equals("prev")) {
                continue;
            }
            String name = f.getName().toLowerCase();
            for (var field : schema.fields()) {
                if (field.def.name.replace("_", "").equals(name)) {
                    out.add(f.getName() + ":" + type(field.def.type, of, f));
                    plain.add(field.def.name);
                }
            }
            for (var entry : tagged.entrySet()) {
                if (entry.getValue().name.replace("_", "").equals(name)) {
                    f.setAccessible(true);
                    out.add(f.getName() + "@" + entry.getKey() + ":" + type(entry.getValue().type, of, f) + "=" + text(f.get(fresh)));
                }
            }
        }
        int expected = 0;
        int at = 0;
        for (var field : schema.fields()) {
            if (field.def.type instanceof TaggedFields) {
                continue;
            }
            expected++;
            if (!plain.get(at++).equals(field.def.name)) {
                throw new IllegalStateException(of + ": order of " + field.def.name);
            }
        }
        if (out.size() != expected + tagged.size()) {
            throw new IllegalStateException(of + ": " + out);
        }
        return String.join(" ", out);
    }

    static String text(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof Uuid id) {
            return id.equals(Uuid.ZERO_UUID) ? "zero" : id.toString();
        }
        if (value instanceof Collection<?> c) {
            return c.isEmpty() ? "empty" : c.toString();
        }
        if (value instanceof byte[] b) {
            return b.length == 0 ? "empty" : "bytes";
        }
        if (value instanceof String s) {
            return s.isEmpty() ? "empty" : s;
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        return "struct";
    }

    static String type(Type type, Class<?> of, Field f) throws Exception {
        if (type.isArray()) {
            Type element = type.arrayElementType().get();
            String inner = element instanceof Schema s ? "(" + fields(s, element(f)) + ")" : type(element, of, f);
            return "[" + inner + "]" + (type.isNullable() ? "?" : "");
        }
        if (type instanceof Schema s) {
            return "(" + fields(s, f.getType()) + ")" + (type.isNullable() ? "?" : "");
        }
        String name = type.toString().toLowerCase().replace("compact_", "");
        if (name.startsWith("nullable_")) {
            return name.substring(9) + "?";
        }
        return name;
    }

    /** The class of a list's elements, or of a collection's. */
    static Class<?> element(Field f) throws Exception {
        java.lang.reflect.Type generic = f.getGenericType();
        if (generic instanceof java.lang.reflect.ParameterizedType p) {
            return (Class<?>) p.getActualTypeArguments()[0];
        }
        java.lang.reflect.ParameterizedType p = (java.lang.reflect.ParameterizedType) f.getType().getGenericSuperclass();
        return (Class<?>) p.getActualTypeArguments()[0];
    }
}
