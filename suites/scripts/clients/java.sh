#!/bin/bash
# Apache Kafka's client for Java, with Client.java compiled against the version.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf libs classes src && mkdir src
  cat > pom.xml <<P
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>minibroker</groupId><artifactId>client</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>$VERSION</version></dependency></dependencies>
</project>
P
  mvn -q -B dependency:copy-dependencies -DoutputDirectory="$PWD/libs" -DincludeScope=runtime >&2
  # releases before 2.5 name the group of a transaction's offsets by its id alone
  sed "s/GROUP)/new ConsumerGroupMetadata(topic))/" "$SCRIPTS/java/Client.java" > src/Client.java
  javac -nowarn -cp 'libs/*' -d classes src/Client.java 2>/dev/null ||
    { sed "s/GROUP)/topic)/" "$SCRIPTS/java/Client.java" > src/Client.java && javac -nowarn -cp 'libs/*' -d classes src/Client.java >&2; }
  touch ready
  ;;
run)
  exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'libs/*:classes' Client "$ADDRESS" "${TOPIC:-client}"
  ;;
esac
