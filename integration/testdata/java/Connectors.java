import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.file.*;
import org.apache.kafka.connect.sink.*;
import org.apache.kafka.connect.source.*;

/** Connectors for a worker of Kafka Connect 4.4.0. */
public class Connectors {

    /**
     * Kafka's own source of lines of a file. In Maven's repository there is none of 4.4.0; this one works in its workers but for its version,
     * which it takes from a class that has moved.
     */
    public static class FileSource extends FileStreamSourceConnector {
        @Override public String version() {
            return "4.2.0";
        }

        @Override public Class<? extends Task> taskClass() {
            return Reader.class;
        }

        public static class Reader extends FileStreamSourceTask {
            @Override public String version() {
                return "4.2.0";
            }
        }
    }

    /** Kafka's own sink of lines, likewise. */
    public static class FileSink extends FileStreamSinkConnector {
        @Override public String version() {
            return "4.2.0";
        }

        @Override public Class<? extends Task> taskClass() {
            return Writer.class;
        }

        public static class Writer extends FileStreamSinkTask {
            @Override public String version() {
                return "4.2.0";
            }
        }
    }

    /**
     * A source of numbers. Each of its lanes, which are shared out among the tasks, counts from 0 to count; number n of lane l is the record
     * "l-n" in partition l. One poll returns numbers of one lane up to the next multiple of batch. Where the task may define the limits of
     * transactions, each poll is one, and it aborts those that begin at a multiple of seven batches.
     */
    public static class Numbers extends SourceConnector {
        static final ConfigDef CONFIG = new ConfigDef().define("topic", Type.STRING, Importance.HIGH, "where to")
                .define("lanes", Type.INT, Importance.HIGH, "how many").define("count", Type.LONG, Importance.HIGH, "of each lane")
                .define("batch", Type.INT, 20, Importance.LOW, "of one poll").define("size", Type.INT, 0, Importance.LOW, "of a value, at least");
        private Map<String, String> props;

        @Override public void start(Map<String, String> p) {
            props = p;
        }

        @Override public Class<? extends Task> taskClass() {
            return Counter.class;
        }

        @Override public List<Map<String, String>> taskConfigs(int most) {
            int lanes = Integer.parseInt(props.get("lanes"));
            List<Map<String, String>> tasks = new ArrayList<>();
            for (int lane = 0; lane < lanes; lane++) {
                if (lane < most) {
                    tasks.add(new HashMap<>(props));
                    tasks.get(lane).put("mine", "" + lane);
                } else {
                    tasks.get(lane % most).merge("mine", "," + lane, String::concat);
                }
            }
            return tasks;
        }

        @Override public void stop() { }

        @Override public ConfigDef config() {
            return CONFIG;
        }

        @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> p) {
            return ExactlyOnceSupport.SUPPORTED;
        }

        @Override public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> p) {
            return ConnectorTransactionBoundaries.SUPPORTED;
        }

        @Override public boolean alterOffsets(Map<String, String> p, Map<Map<String, ?>, Map<String, ?>> offsets) {
            offsets.forEach((lane, offset) -> {
                if (offset != null && !(offset.get("next") instanceof Number)) {
                    throw new ConnectException("no number is next in lane " + lane.get("lane"));
                }
            });
            return true;
        }

        @Override public String version() {
            return "1";
        }
    }

    public static class Counter extends SourceTask {
        private final CountDownLatch stopped = new CountDownLatch(1);
        private final TreeMap<String, Long> next = new TreeMap<>();
        private String topic, padding, lane = "";
        private long count;
        private int batch;

        @Override public void start(Map<String, String> p) {
            topic = p.get("topic");
            count = Long.parseLong(p.get("count"));
            batch = Integer.parseInt(p.getOrDefault("batch", "20"));
            padding = " ".repeat(Integer.parseInt(p.getOrDefault("size", "0")));
            for (String mine : p.get("mine").split(",")) {
                Map<String, Object> offset = context.offsetStorageReader().offset(Map.of("lane", mine));
                next.put(mine, offset == null ? 0 : ((Number) offset.get("next")).longValue());
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            for (int look = 0; look < next.size(); look++) {
                lane = next.higherKey(lane) == null ? next.firstKey() : next.higherKey(lane);
                if (next.get(lane) < count) {
                    return numbers(next.get(lane));
                }
            }
            stopped.await(20, TimeUnit.MILLISECONDS);
            return null;
        }

        private List<SourceRecord> numbers(long first) {
            List<SourceRecord> records = new ArrayList<>();
            long n = first;
            do {
                records.add(new SourceRecord(Map.of("lane", lane), Map.of("next", n + 1), topic, Integer.parseInt(lane), Schema.STRING_SCHEMA, lane,
                        Schema.STRING_SCHEMA, lane + "-" + n + padding));
                n++;
            } while (n < count && n % batch != 0);
            next.put(lane, n);
            if (context.transactionContext() != null && first / batch % 7 == 0) {
                context.transactionContext().abortTransaction();
            } else if (context.transactionContext() != null) {
                context.transactionContext().commitTransaction();
            }
            return records;
        }

        @Override public void stop() {
            stopped.countDown();
        }

        @Override public String version() {
            return "1";
        }
    }

    /** A sink whose tasks append to a file for each partition: OFFSET VALUE. A line is written whole or not at all. */
    public static class Lines extends SinkConnector {
        private Map<String, String> props;

        @Override public void start(Map<String, String> p) {
            props = p;
        }

        @Override public Class<? extends Task> taskClass() {
            return Appender.class;
        }

        @Override public List<Map<String, String>> taskConfigs(int most) {
            return Collections.nCopies(most, props);
        }

        @Override public void stop() { }

        @Override public ConfigDef config() {
            return new ConfigDef().define("folder", Type.STRING, Importance.HIGH, "of the files");
        }

        @Override public boolean alterOffsets(Map<String, String> p, Map<org.apache.kafka.common.TopicPartition, Long> offsets) {
            return true;
        }

        @Override public String version() {
            return "1";
        }
    }

    public static class Appender extends SinkTask {
        private Path folder;

        @Override public void start(Map<String, String> p) {
            folder = Path.of(p.get("folder"));
        }

        @Override public void put(Collection<SinkRecord> records) {
            Map<String, StringBuilder> files = new HashMap<>();
            for (SinkRecord r : records) {
                files.computeIfAbsent(r.topic() + "-" + r.kafkaPartition(), f -> new StringBuilder()).append(r.kafkaOffset()).append(' ').append(r.value()).append('\n');
            }
            files.forEach((file, text) -> {
                try {
                    Files.write(folder.resolve(file), text.toString().getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                } catch (IOException e) {
                    throw new ConnectException(e);
                }
            });
        }

        @Override public void stop() { }

        @Override public String version() {
            return "1";
        }
    }
}
