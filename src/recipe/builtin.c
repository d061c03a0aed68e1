/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.c - recipes of families of models. Sources: torchvision's ImageNet transforms and its segmentation
 * references, TensorFlow's DeepLab demo, ultralytics' predict (whose resize does not antialias: ours does), and the
 * demos of Ultra-Light-Fast-Generic-Face-Detector-1MB and of libfacedetection. */
#include "recipe/recipe.h"

#define IMAGENET_NUMBERS "scale 1/255\nmean 0.485,0.456,0.406\nstd 0.229,0.224,0.225\n"
#define VOC                                                                                                            \
  "label 0 background\nlabel 1 aeroplane\nlabel 2 bicycle\nlabel 3 bird\nlabel 4 boat\nlabel 5 bottle\nlabel 6 bus\n"  \
  "label 7 car\nlabel 8 cat\nlabel 9 chair\nlabel 10 cow\nlabel 11 dining table\nlabel 12 dog\nlabel 13 horse\n"       \
  "label 14 motorbike\nlabel 15 person\nlabel 16 potted plant\nlabel 17 sheep\nlabel 18 sofa\nlabel 19 train\n"        \
  "label 20 television\n"

const hn_builtin_recipe hn_builtin_recipes[] = {
    {"imagenet", "classes of ImageNet, as torchvision prepares its photos",
     "input\nresize short:256\ncrop input\n" IMAGENET_NUMBERS "classes\nsoftmax\ntop 5\n"},
    {"yolov8", "boxes of YOLOv8 and YOLO11, [N,4+C,A]",
     "input\nletterbox input fill 114\nscale 1/255\nboxes yolov8\nnms score 0.25 iou 0.45 most 300\n"},
    {"yolov5", "boxes of YOLOv5 and YOLOv7, [N,A,5+C]",
     "input\nletterbox input fill 114\nscale 1/255\nboxes yolov5\nnms score 0.25 iou 0.45 most 300\n"},
    {"ultraface", "faces of Ultra-Light-Fast-Generic-Face-Detector",
     "input\nresize input\nmean 127\nstd 128\nboxes ssd scores scores boxes boxes unit relative background first\n"
     "nms score 0.7 iou 0.3 most 200\nlabel 0 face\n"},
    {"yunet", "faces of YuNet (libfacedetection), at 640 x 640 where its input is free",
     "input\nletterbox 640x640 fill 0\nchannels bgr\nboxes yunet\nnms score 0.6 iou 0.3 most 200\nlabel 0 face\n"},
    {"deeplab", "masks of TensorFlow's DeepLab, 21 classes of Pascal VOC",
     "input\nresize input\nscale 1/127.5\nmean 1\nlayout nhwc\nmask\n" VOC},
    {"segmentation", "masks of torchvision's networks, 21 classes of Pascal VOC",
     "input\nresize input\n" IMAGENET_NUMBERS "mask\n" VOC},
    {0},
};
