#!/bin/bash -e
# Does what kafkajs's script of this name has kafka-topics do in the container of a broker.
node -e '
const { Kafka } = require("./index")
const admin = new Kafka({ clientId: "addPartitions", brokers: ["localhost:9092"] }).admin()
const { TOPIC, PARTITIONS } = process.env
admin.connect()
  .then(() => admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: Number(PARTITIONS) }] }))
  .then(() => admin.disconnect())
'
