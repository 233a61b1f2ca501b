import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/**
 * A Kafka Streams application that runs until it is killed: ADDRESS STATE-DIRECTORY. It reads
 *
 * <pre>
 * orders    order id -> user,item,amount
 * payments  order id -> amount
 * users     user -> city, a table with a history
 * items     item -> price, a global table
 * </pre>
 *
 * and writes
 *
 * <pre>
 * revenue       city@start -> count,sum      orders joined with users and items, in hopping windows of 10 minutes
 * final-counts  user@start -> count          orders of 5 minutes, told once, when the window is closed
 * sessions      user@start-end -> count      orders no more than 2 minutes apart
 * paid          order id -> user,item,amount,paid   each order with each payment within a minute
 * paid-by-user  user -> sum                  what of it was paid
 * </pre>
 */
public class Streams {
    static final Duration GRACE = Duration.ofHours(3);

    public static void main(String[] a) throws InterruptedException {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("state.dir", a[1]);
        p.put("application.id", "shop");
        p.put("processing.guarantee", "exactly_once_v2");
        p.put("num.stream.threads", "2");
        p.put("default.key.serde", Serdes.StringSerde.class);
        p.put("default.value.serde", Serdes.StringSerde.class);
        p.put("auto.offset.reset", "earliest");
        p.put("session.timeout.ms", "3000");
        p.put("heartbeat.interval.ms", "300");
        p.put("reconnect.backoff.max.ms", "200");
        p.put("repartition.purge.interval.ms", "1000");
        KafkaStreams streams = new KafkaStreams(topology(), p);
        CountDownLatch ended = new CountDownLatch(1);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            ended.countDown();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        ended.await();
        Runtime.getRuntime().halt(1); // another process takes over
    }

    static Topology topology() {
        StreamsBuilder b = new StreamsBuilder();
        KStream<String, String> orders = b.stream("orders");
        KStream<String, String> payments = b.stream("payments");
        KTable<String, String> users = b.table("users", Materialized.as(Stores.persistentVersionedKeyValueStore("users", Duration.ofDays(2))));
        GlobalKTable<String, String> items = b.globalTable("items", Materialized.as("items"));
        KStream<String, String> perUser = orders.selectKey((id, v) -> field(v, 0)).repartition(Repartitioned.as("per-user"));

        perUser.join(users, (order, city) -> city + "," + order)
                .join(items, (user, v) -> field(v, 2), (v, price) -> field(v, 0) + "," + Long.parseLong(field(v, 3)) * Long.parseLong(price))
                .groupBy((user, v) -> field(v, 0), Grouped.as("per-city"))
                .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(10), GRACE).advanceBy(Duration.ofMinutes(5)))
                .aggregate(() -> "0,0", (city, v, sum) -> (number(sum, 0) + 1) + "," + (number(sum, 1) + number(v, 1)), Materialized.as("revenue"))
                .toStream((w, v) -> w.key() + "@" + w.window().start()).to("revenue");

        perUser.groupByKey(Grouped.with(Serdes.String(), Serdes.String())).windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(5), GRACE)).count(Materialized.as("counts"))
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName("open"))
                .toStream((w, n) -> w.key() + "@" + w.window().start()).mapValues(n -> "" + n).to("final-counts");

        perUser.groupByKey(Grouped.with(Serdes.String(), Serdes.String())).windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofMinutes(2), GRACE)).count(Materialized.as("sessions"))
                .toStream((w, n) -> w.key() + "@" + w.window().start() + "-" + w.window().end())
                .mapValues(n -> n == null ? null : "" + n).to("sessions");

        KStream<String, String> paid = orders.join(payments, (order, payment) -> order + "," + payment,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMinutes(1), GRACE), StreamJoined.<String, String, String>as("paid").withName("paid"));
        paid.to("paid");
        paid.groupBy((id, v) -> field(v, 0), Grouped.as("per-payer"))
                .aggregate(() -> "0", (user, v, sum) -> "" + (number(sum, 0) + number(v, 3)), Materialized.as("paid-by-user"))
                .toStream().to("paid-by-user");
        return b.build();
    }

    static String field(String v, int n) {
        return v.split(",")[n];
    }

    static long number(String v, int n) {
        return Long.parseLong(field(v, n));
    }
}
