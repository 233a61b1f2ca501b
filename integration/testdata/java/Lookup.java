import java.io.File;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.storage.internals.log.LogFileUtils;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;

/** Looks offsets up in a segment with Kafka's own classes: index entry first, then the batch that holds the offset. */
public class Lookup {
    public static void main(String[] args) throws Exception {
        File dir = new File(args[0]);
        long base = Long.parseLong(args[1]);
        try (OffsetIndex index = new OffsetIndex(LogFileUtils.offsetIndexFile(dir, base), base, -1, false);
                FileRecords log = FileRecords.open(LogFileUtils.logFile(dir, base), false)) {
            System.out.println("entries " + index.entries());
            for (int i = 2; i < args.length; i++) {
                long target = Long.parseLong(args[i]);
                OffsetPosition hint = index.lookup(target);
                FileRecords.LogOffsetPosition found = log.searchForOffsetFromPosition(target, hint.position());
                System.out.println(target + " index " + hint.offset() + " " + hint.position()
                        + " batch " + found.position + " size " + found.size);
            }
        }
    }
}
