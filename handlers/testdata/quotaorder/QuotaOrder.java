import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.ClientQuotaRecord;
import org.apache.kafka.image.*;
import org.apache.kafka.image.writer.RecordListWriter;

/**
 * Answers what a broker of Apache Kafka shows of client quotas, from Kafka's own image of them. It reads lines from its
 * input and repeats them, each describe with the entities that it finds, in their order:
 *
 *   fresh                            a cluster without quotas
 *   alter  ENTITY ENTITY ...         one request that limits the entities, or with - before it removes the limit of one
 *   snapshot                         what there is goes into a snapshot
 *   restart                          the broker starts again and reads all that was altered
 *   describe[!] PART PART ...        the filter, a strict one with !: type=name, type (the default entity), type=* (any named)
 *
 * An entity is its parts with commas between them; a part without = is the default one.
 */
public class QuotaOrder {
    static ClientQuotasImage image = ClientQuotasImage.EMPTY;
    static List<ClientQuotaRecord> snapshot = new ArrayList<>();
    static List<ClientQuotaRecord> log = new ArrayList<>(); // behind the snapshot

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" => ")[0].trim().split(" +");
            if (words[0].isEmpty() || words[0].equals("#")) {
                System.out.println(line);
                continue;
            }
            List<String> rest = Arrays.asList(words).subList(1, words.length);
            String said = String.join(" ", words);
            switch (words[0]) {
                case "fresh" -> { image = ClientQuotasImage.EMPTY; snapshot.clear(); log.clear(); }
                case "restart" -> { image = ClientQuotasImage.EMPTY; apply(snapshot); apply(log); }
                case "snapshot" -> {
                    RecordListWriter writer = new RecordListWriter();
                    image.write(writer);
                    snapshot.clear();
                    log.clear();
                    writer.records().forEach(r -> snapshot.add((ClientQuotaRecord) r.message()));
                }
                case "alter" -> {
                    List<ClientQuotaRecord> records = new ArrayList<>();
                    for (String e : rest) records.add(record(e));
                    log.addAll(records);
                    apply(records);
                }
                default -> said += " => " + describe(rest, words[0].endsWith("!"));
            }
            System.out.println(said);
        }
    }

    static void apply(List<ClientQuotaRecord> records) {
        if (records.isEmpty()) return;
        ClientQuotasDelta delta = new ClientQuotasDelta(image);
        records.forEach(delta::replay);
        image = delta.apply();
    }

    static ClientQuotaRecord record(String entity) {
        ClientQuotaRecord r = new ClientQuotaRecord().setKey("producer_byte_rate").setValue(1000).setRemove(entity.startsWith("-"));
        for (String part : entity.replaceFirst("^-", "").split(",")) {
            String[] p = part.split("=", 2);
            r.entity().add(new ClientQuotaRecord.EntityData().setEntityType(p[0]).setEntityName(p.length > 1 ? p[1] : null));
        }
        return r;
    }

    static String describe(List<String> parts, boolean strict) {
        DescribeClientQuotasRequestData request = new DescribeClientQuotasRequestData().setStrict(strict);
        for (String part : parts) {
            String[] p = part.split("=", 2);
            String name = p.length > 1 && !p[1].equals("*") ? p[1] : null;
            request.components().add(new DescribeClientQuotasRequestData.ComponentData().setEntityType(p[0]).setMatch(name)
                .setMatchType((byte) (name != null ? 0 : p.length > 1 ? 2 : 1)));
        }
        StringJoiner found = new StringJoiner(" ");
        for (DescribeClientQuotasResponseData.EntryData e : image.describe(request).entries()) {
            StringJoiner entity = new StringJoiner(",");
            e.entity().forEach(p -> entity.add(p.entityName() == null ? p.entityType() : p.entityType() + "=" + p.entityName()));
            found.add(entity.toString());
        }
        return found.toString();
    }
}
